//! Copies and comparisons of bytes, which the compiler calls by these names.
//!
//! In assembly: the compiler might make a loop of Rust a call of the function that it is in.

use core::arch::naked_asm;
use core::ffi::{c_int, c_void};

/// Copies bytes forwards.
#[unsafe(no_mangle)]
#[unsafe(naked)]
unsafe extern "C" fn memcpy(to: *mut c_void, from: *const c_void, bytes: usize) -> *mut c_void {
    naked_asm!(
        "mov rax, rdi",
        "mov rcx, rdx",
        "shr rcx, 3",
        "rep movsq",
        "mov ecx, edx",
        "and ecx, 7",
        "rep movsb",
        "ret"
    )
}

/// Copies bytes, backwards if the target overlaps what is behind the beginning of the source.
#[unsafe(no_mangle)]
#[unsafe(naked)]
unsafe extern "C" fn memmove(to: *mut c_void, from: *const c_void, bytes: usize) -> *mut c_void {
    naked_asm!(
        "mov rax, rdi",
        "sub rax, rsi",
        "cmp rax, rdx", // unsigned: also larger if the target is before the source
        "jae {forwards}",
        "mov rax, rdi",
        "mov rcx, rdx",
        "lea rsi, [rsi + rdx - 1]",
        "lea rdi, [rdi + rdx - 1]",
        "std",
        "rep movsb",
        "cld",
        "ret",
        forwards = sym memcpy,
    )
}

/// Sets bytes.
#[unsafe(no_mangle)]
#[unsafe(naked)]
unsafe extern "C" fn memset(to: *mut c_void, byte: c_int, bytes: usize) -> *mut c_void {
    naked_asm!(
        "mov r8, rdi",
        "movzx eax, sil",
        "mov rcx, 0x0101010101010101",
        "imul rax, rcx",
        "mov rcx, rdx",
        "shr rcx, 3",
        "rep stosq",
        "mov ecx, edx",
        "and ecx, 7",
        "rep stosb",
        "mov rax, r8",
        "ret"
    )
}

/// Compares bytes: less than, equal to or greater than 0, as the first difference is.
#[unsafe(no_mangle)]
#[unsafe(naked)]
unsafe extern "C" fn memcmp(left: *const c_void, right: *const c_void, bytes: usize) -> c_int {
    naked_asm!(
        "xor eax, eax",
        "mov rcx, rdx",
        "cmp rcx, rcx", // equal if there are no bytes
        "repe cmpsb",
        "je 2f",
        "movzx eax, byte ptr [rdi - 1]",
        "movzx ecx, byte ptr [rsi - 1]",
        "sub eax, ecx",
        "2: ret"
    )
}

/// Compares bytes: 0 if they are equal.
#[unsafe(no_mangle)]
#[unsafe(naked)]
unsafe extern "C" fn bcmp(left: *const c_void, right: *const c_void, bytes: usize) -> c_int {
    naked_asm!("jmp {}", sym memcmp)
}

/// Counts the bytes before the first zero.
#[unsafe(no_mangle)]
#[unsafe(naked)]
unsafe extern "C" fn strlen(text: *const u8) -> usize {
    naked_asm!("xor eax, eax", "2: cmp byte ptr [rdi + rax], 0", "je 3f", "inc rax", "jmp 2b", "3: ret")
}
