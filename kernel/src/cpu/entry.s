// The entries of interrupts and faults: save what Rust may change, and call `on_interrupt`.

.macro entry vector, has_error
entry_\vector:
    .if \has_error == 0
    push 0
    .endif
    push \vector
    jmp interrupted
.endm

.section .text
.code64
interrupted:
    push rax
    push rcx
    push rdx
    push rsi
    push rdi
    push r8
    push r9
    push r10
    push r11
    push rbx
    push rbp
    push r12
    push r13
    push r14
    push r15
    cld
    mov rdi, rsp                        // aligned: the stack began so, and 22 words are on it
    .if {saves_vectors}
    sub rsp, 512
    fxsave64 [rsp]
    .endif
    call {on_interrupt}
    .if {saves_vectors}
    fxrstor64 [rsp]
    add rsp, 512
    .endif
    pop r15
    pop r14
    pop r13
    pop r12
    pop rbp
    pop rbx
    pop r11
    pop r10
    pop r9
    pop r8
    pop rdi
    pop rsi
    pop rdx
    pop rcx
    pop rax
    add rsp, 16
    iretq

.irp vector, 8, 10, 11, 12, 13, 14, 17, 21, 29, 30
entry \vector, 1
.endr
.irp vector, 0, 1, 2, 3, 4, 5, 6, 7, 9, 15, 16, 18, 19, 20, 22, 23, 24, 25, 26, 27, 28, 31
entry \vector, 0
.endr
.irp vector, 32, 33, 34, 35
entry \vector, 0
.endr

.section .rodata.entries, "a"
.align 8
.global interrupt_entries
interrupt_entries:
.irp vector, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19
.quad entry_\vector
.endr
.irp vector, 20, 21, 22, 23, 24, 25, 26, 27, 28, 29, 30, 31, 32, 33, 34, 35
.quad entry_\vector
.endr

.section .text
