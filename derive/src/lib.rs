//! Derive macros of the crate `xtasking`, which exports them; its documentation says what they are
//! for.

#![forbid(unsafe_code)]

use proc_macro::TokenStream;
use quote::{quote, quote_spanned};
use syn::spanned::Spanned;
use syn::{Data, DataEnum, DeriveInput, Error, Field, Fields, Result, parse_macro_input};

/// Derives `Version` for a struct or enum, and checks that each field can be in a versioned type:
/// a cell, immutable data, or a type that is itself versioned.
///
/// `#[version(unchecked)]` at a field leaves it out of the check. Its type must keep the contract
/// of `Version` by itself.
#[proc_macro_derive(Version, attributes(version))]
pub fn version(input: TokenStream) -> TokenStream {
    let input = parse_macro_input!(input as DeriveInput);
    derive_version(&input).unwrap_or_else(Error::into_compile_error).into()
}

/// Derives `AsWord` for an enum whose variants have no fields, so that a `Field` can hold it.
#[proc_macro_derive(AsWord)]
pub fn as_word(input: TokenStream) -> TokenStream {
    let input = parse_macro_input!(input as DeriveInput);
    derive_as_word(&input).unwrap_or_else(Error::into_compile_error).into()
}

fn derive_version(input: &DeriveInput) -> Result<proc_macro2::TokenStream> {
    let name = &input.ident;
    let (generics, arguments, bounds) = input.generics.split_for_impl();
    let fields: Vec<&Field> = match &input.data {
        Data::Struct(data) => data.fields.iter().collect(),
        Data::Enum(data) => data.variants.iter().flat_map(|variant| &variant.fields).collect(),
        Data::Union(data) => {
            return Err(Error::new(data.union_token.span(), "a union cannot be a versioned type"));
        }
    };
    let mut checks = Vec::new();
    for field in fields {
        if !is_unchecked(field)? {
            let ty = &field.ty;
            // At the field's type, where the compiler reports that it cannot be in a versioned
            // type.
            checks.push(quote_spanned! { ty.span() => can_be_a_field::<#ty>(); });
        }
    }
    Ok(quote! {
        #[automatically_derived]
        impl #generics ::xtasking::Version for #name #arguments #bounds {}
        #[automatically_derived]
        impl #generics ::xtasking::arena::VersionField for #name #arguments #bounds {}
        const _: () = {
            #[allow(dead_code, clippy::extra_unused_type_parameters, clippy::extra_unused_lifetimes)]
            fn check #generics () #bounds {
                fn can_be_a_field<F: ::xtasking::arena::VersionField + ?Sized>() {}
                #(#checks)*
            }
        };
    })
}

/// Returns true if a field has the attribute `#[version(unchecked)]`.
fn is_unchecked(field: &Field) -> Result<bool> {
    let mut unchecked = false;
    for attribute in field.attrs.iter().filter(|attribute| attribute.path().is_ident("version")) {
        attribute.parse_nested_meta(|meta| {
            if !meta.path.is_ident("unchecked") {
                return Err(meta.error("the attribute of a field is `#[version(unchecked)]`"));
            }
            unchecked = true;
            Ok(())
        })?;
    }
    Ok(unchecked)
}

fn derive_as_word(input: &DeriveInput) -> Result<proc_macro2::TokenStream> {
    let name = &input.ident;
    let Data::Enum(DataEnum { variants, .. }) = &input.data else {
        return Err(Error::new(name.span(), "`AsWord` is derived for enums only"));
    };
    if let Some(variant) = variants.iter().find(|variant| !matches!(variant.fields, Fields::Unit)) {
        return Err(Error::new(variant.span(), "a variant with fields does not fit into a word"));
    }
    let Some(first) = variants.first().map(|variant| &variant.ident) else {
        return Err(Error::new(name.span(), "an enum without variants has no words"));
    };
    let variants: Vec<_> = variants.iter().map(|variant| &variant.ident).collect();
    let numbers = 0..variants.len() as u64;
    let (to_word, from_word) = (numbers.clone(), numbers);
    let (generics, arguments, bounds) = input.generics.split_for_impl();
    Ok(quote! {
        #[automatically_derived]
        impl #generics ::xtasking::arena::AsWord for #name #arguments #bounds {
            fn to_word(self) -> u64 {
                match self {
                    #(Self::#variants => #to_word,)*
                }
            }
            fn from_word(word: u64) -> Self {
                match word {
                    #(#from_word => Self::#variants,)*
                    _ => Self::#first,
                }
            }
        }
    })
}
