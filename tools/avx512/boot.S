// Brings a processor from GRUB (multiboot, 32 bits) into 64 bits with AVX-512 switched on, and calls check.
// The first GiB of memory is mapped to itself.

.code32
.section .boot, "ax"
.align 4
header:
	.long 0x1BADB002, 0x00010002, -(0x1BADB002 + 0x00010002)
	.long header, load_start, load_end, bss_end, start

start:
	cli
	mov $stack_top, %esp
	movl $pdpt + 3, pml4
	movl $pd + 3, pdpt
	mov $pd, %edi
	mov $0x83, %eax // present, writable, 2 MiB
	mov $512, %ecx
map:
	mov %eax, (%edi)
	movl $0, 4(%edi)
	add $0x200000, %eax
	add $8, %edi
	loop map
	mov %cr4, %eax
	or $0x40620, %eax // PAE, OSFXSR, OSXMMEXCPT, OSXSAVE
	mov %eax, %cr4
	mov $pml4, %eax
	mov %eax, %cr3
	mov $0xC0000080, %ecx // EFER: long mode
	rdmsr
	or $0x100, %eax
	wrmsr
	mov %cr0, %eax
	and $~4, %eax         // no emulation of the FPU
	or $0x80000002, %eax  // paging
	mov %eax, %cr0
	lgdt gdt_at
	ljmp $8, $long_mode

.code64
long_mode:
	mov $16, %ax
	mov %ax, %ds
	mov %ax, %es
	mov %ax, %ss
	xor %ecx, %ecx
	mov $0xe7, %eax // XCR0: x87, SSE, AVX, AVX-512
	xor %edx, %edx
	xsetbv
	mov $stack_top, %rsp
	call check
stop:
	hlt
	jmp stop

// void call_go(void *f, long n, const long *args): Go's ABI0 has arguments on the stack and saves nothing.
.global call_go
call_go:
	push %rbx
	push %rbp
	push %r12
	push %r13
	push %r14
	push %r15
	mov %rsp, go_stack
	mov %rdi, %rax
	lea (,%rsi,8), %rcx
	sub %rcx, %rsp
next:
	test %rsi, %rsi
	jz last
	dec %rsi
	mov (%rdx,%rsi,8), %rcx
	mov %rcx, (%rsp,%rsi,8)
	jmp next
last:
	call *%rax
	mov go_stack, %rsp
	pop %r15
	pop %r14
	pop %r13
	pop %r12
	pop %rbp
	pop %rbx
	ret

.align 8
gdt:
	.quad 0, 0x00AF9A000000FFFF, 0x00CF92000000FFFF // none, code of 64 bits, data
gdt_at:
	.word 23
	.long gdt

.section .bss
.align 4096
pml4: .skip 4096
pdpt: .skip 4096
pd: .skip 4096
stack: .skip 65536
stack_top:
go_stack: .skip 8
