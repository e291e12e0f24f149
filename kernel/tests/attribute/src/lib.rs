//! Collects test functions in a list that an image goes through.

#![forbid(unsafe_code)]

use proc_macro::{TokenStream, TokenTree};

/// Names of what no kernel has. A test that uses one of them is not compiled here.
const ABSENT: [&str; 2] = ["tokio", "spawn_handler"];

/// Puts the function into the list of tests, which the linker makes of the section `.tests`: its
/// name, itself, and what it must say when it panics, if it must.
#[proc_macro_attribute]
pub fn test(_: TokenStream, function: TokenStream) -> TokenStream {
    if uses_absent(function.clone()) {
        return TokenStream::new();
    }
    let expected = expected_panic(function.clone());
    let mut tokens = function.clone().into_iter();
    let is_keyword = |token: &TokenTree| matches!(token, TokenTree::Ident(word) if word.to_string() == "fn");
    let name = tokens.by_ref().find(is_keyword).and_then(|_| tokens.next()).expect("a function has a name");
    let entry = format!(
        "const _: () = {{
            #[used]
            #[unsafe(link_section = \".tests\")]
            static TEST: (&str, fn(), ::core::option::Option<&str>) =
                (::core::concat!(::core::module_path!(), \"::{name}\"), {name}, {expected});
        }};"
    );
    function.into_iter().chain(entry.parse::<TokenStream>().expect("it is Rust")).collect()
}

/// Returns the text of `#[should_panic(expected = "text")]` as an optional one; an empty one if the
/// attribute has none.
fn expected_panic(function: TokenStream) -> String {
    let attributes = function.into_iter().filter_map(|token| match token {
        TokenTree::Group(group) => Some(group.stream().into_iter()),
        _ => None,
    });
    let is_name = |token: Option<TokenTree>| token.is_some_and(|token| token.to_string() == "should_panic");
    let Some(mut rest) =
        attributes.into_iter().find_map(|mut tokens| is_name(tokens.next()).then_some(tokens))
    else {
        return "::core::option::Option::None".into();
    };
    let text = match rest.next() {
        Some(TokenTree::Group(group)) => group.stream().into_iter().last(),
        _ => None,
    };
    format!("::core::option::Option::Some({})", text.map_or("\"\"".into(), |text| text.to_string()))
}

/// Returns true if one of the [`ABSENT`] names occurs.
fn uses_absent(tokens: TokenStream) -> bool {
    tokens.into_iter().any(|token| match token {
        TokenTree::Group(group) => uses_absent(group.stream()),
        TokenTree::Ident(word) => ABSENT.contains(&&*word.to_string()),
        _ => false,
    })
}
