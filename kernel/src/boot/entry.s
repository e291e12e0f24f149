// From the loader to Rust, for the first core (`xkernel_start`) and for each other one
// (`trampoline`). Symbols in braces are those of Rust.

.section .note.Xen, "a"
.align 4
.long 4, 4, 18                          // name, value, kind: the entry by PVH
.asciz "Xen"
.long xkernel_start

// The loader enters in 32-bit mode without paging; ebx points to its description of the machine.
.section .boot, "ax"
.code32
.global xkernel_start
xkernel_start:
    cli
    cld
    mov [{start_info}], ebx
    mov edi, offset boot_directories    // maps the first 4 GiB to themselves, in pages of 2 MiB
    mov eax, 0x83
    mov ecx, 2048
1:  mov [edi], eax
    add eax, 0x200000
    add edi, 8
    loop 1b
    mov edi, offset boot_pointers
    mov eax, offset boot_directories + 3
    mov ecx, 4
2:  mov [edi], eax
    add eax, 4096
    add edi, 8
    loop 2b
    mov eax, offset boot_pointers + 3
    mov [boot_root], eax
    mov eax, offset boot_root
    mov [{page_root}], eax
    lgdt [boot_gdt_pointer]
    mov ebp, offset first_core

// Enters 64-bit mode with the tables of `page_root`, and goes on at ebp.
to_long_mode:
    mov eax, cr4
    or eax, 0x620                       // PAE, and SSE for code that asks for it
    mov cr4, eax
    mov eax, [{page_root}]
    mov cr3, eax
    mov ecx, 0xc0000080
    rdmsr
    or eax, 0x900                       // long mode, pages that do not run
    wrmsr
    mov eax, cr0
    and eax, 0x9ffffff3                 // caches on, no emulation, no lazy switch
    or eax, 0x80010022                  // paging, read-only pages bind the kernel, native faults
    mov cr0, eax
    ljmp 8, offset long_mode

.code64
long_mode:
    mov eax, 16
    mov ds, eax
    mov es, eax
    mov ss, eax
    xor eax, eax
    mov fs, eax
    mov gs, eax
    mov eax, ebp
    xor ebp, ebp
    jmp rax

first_core:
    mov rsp, offset boot_stack_top
    push 0                              // no caller: there the search for what catches a panic ends
    jmp {first_main}

// Cores arrive in any order, so each finds its index by its APIC ID. One without an index halts.
other_core:
    mov eax, 0xfee00020
    mov eax, [rax]
    shr eax, 24
    mov edi, [{core_of_apic} + rax * 4]
    cmp edi, {no_core}
    je 3f
    mov rsp, [{core_stacks} + rdi * 8]
    push 0
    jmp {other_main}
3:  cli
    hlt
    jmp 3b

// Copied to 0x8000, where a core that starts begins in 16-bit mode.
.code16
.global trampoline, trampoline_end
trampoline:
    cli
    xor ax, ax
    mov ds, ax
    .byte 0x66, 0x0f, 0x01, 0x16        // lgdtd [trampoline_gdt_pointer]
    .word 0x8000 + (trampoline_gdt_pointer - trampoline)
    mov eax, 0x11                       // protected mode
    mov cr0, eax
    .byte 0x66, 0xea                    // ljmp 0x18:trampoline_32
    .long 0x8000 + (trampoline_32 - trampoline)
    .word 0x18
.code32
trampoline_32:
    mov ax, 16
    mov ds, ax
    mov es, ax
    mov ss, ax
    mov ebp, offset other_core
    mov eax, offset to_long_mode
    jmp eax
.align 8
trampoline_gdt_pointer:
    .word 31
    .long boot_gdt
trampoline_end:

// 64-bit code, data, 32-bit code.
.section .rodata.boot, "a"
.align 8
boot_gdt:
    .quad 0, 0x00af9b000000ffff, 0x00cf93000000ffff, 0x00cf9b000000ffff
boot_gdt_pointer:
    .word 31
    .long boot_gdt

.section .bss.boot, "aw", @nobits
.align 4096
boot_root: .skip 4096
boot_pointers: .skip 4096
boot_directories: .skip 16384
boot_stack: .skip 65536
boot_stack_top:

.section .text
.code64
