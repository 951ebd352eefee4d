// Compares the kernels with AVX-512 VNNI of internal/vec, cut out of a Go binary, with loops in C: every length up to MOST,
// 4 to 11 rows, at addresses that are not aligned, and the places behind the results, which must stay. Says on
// the first serial port how many sums were compared and how many were wrong.

typedef signed char i8;
typedef unsigned char u8;
typedef int i32;
typedef unsigned long u64;

enum { MOST = 420, ROWS = 11, UNTOUCHED = 0x55555555 };

void call_go(void *f, long n, const long *args);
extern u8 dotInt8x4vnni[], dotInt8Rowsvnni[], dotInt8Atvnni[], dotInt4x4vnni[], dotInt4Atvnni[];

static void out8(unsigned short port, u8 v) { __asm__ volatile("outb %0, %1" : : "a"(v), "Nd"(port)); }
static u8 in8(unsigned short port) { u8 v; __asm__ volatile("inb %1, %0" : "=a"(v) : "Nd"(port)); return v; }

static void say(const char *s) {
	for (; *s; s++) {
		while (!(in8(0x3fd) & 0x20))
			;
		out8(0x3f8, *s);
	}
}

static void say_number(long n) {
	char text[24], *p = text + 23;
	u64 left = n < 0 ? -(u64)n : n;
	*p = 0;
	do
		*--p = '0' + left % 10;
	while (left /= 10);
	if (n < 0)
		*--p = '-';
	say(p);
}

static u64 seed = 88172645463325252UL;
static u64 draw(void) { // xorshift
	seed ^= seed << 13;
	seed ^= seed >> 7;
	return seed ^= seed << 17;
}

static i8 query[2 * MOST + 1], codes[ROWS * MOST + 3], *at[ROWS];
static i32 out[ROWS + 1];
static long compared, wrong;

static void compare(const char *kernel, int d, int n, int row, i32 want) {
	compared++;
	if (out[row] == want || wrong++ >= 20)
		return;
	say(kernel), say(": length "), say_number(d), say(", rows "), say_number(n), say(", row "), say_number(row);
	say(": "), say_number(out[row]), say(", want "), say_number(want), say("\n");
}

static i32 dot8(const i8 *q, const i8 *row, int d) {
	i32 s = 0;
	for (int i = 0; i < d; i++)
		s += q[i] * row[i];
	return s;
}

static i32 dot4(const i8 *lo, const i8 *hi, const i8 *row, int d) {
	i32 s = 0;
	for (int i = 0; i < d; i++)
		s += lo[i] * (((u8)row[i] & 15) - 8) + hi[i] * (((u8)row[i] >> 4) - 8);
	return s;
}

static void untouched(void) {
	for (int i = 0; i <= ROWS; i++)
		out[i] = UNTOUCHED;
}

#define CALL(f, ...) do { \
	const long args[] = {__VA_ARGS__}; \
	untouched(); \
	call_go(f, sizeof args / sizeof *args, args); \
} while (0)

static void length(int d) {
	i8 *lo = query + 1, *hi = lo + d, *rows = codes + 3;
	for (int i = 0; i < 2 * d; i++)
		lo[i] = draw();
	for (int i = 0; i < ROWS * d; i++)
		rows[i] = draw();
	for (int n = 4; n <= ROWS; n++) {
		for (int i = 0; i < n; i++)
			at[i] = rows + (n - 1 - i) * d;
		CALL(dotInt8Atvnni, (long)out, (long)lo, (long)at, d, n);
		for (int i = 0; i < n; i++)
			compare("dotInt8At", d, n, i, dot8(lo, at[i], d));
		compare("dotInt8At", d, n, n, UNTOUCHED);
		CALL(dotInt4Atvnni, (long)out, (long)lo, (long)hi, (long)at, d, n);
		for (int i = 0; i < n; i++)
			compare("dotInt4At", d, n, i, dot4(lo, hi, at[i], d));
		compare("dotInt4At", d, n, n, UNTOUCHED);
	}
	CALL(dotInt8Rowsvnni, (long)out, (long)lo, (long)rows, d, 2);
	for (int i = 0; i < 8; i++)
		compare("dotInt8Rows", d, 8, i, dot8(lo, rows + i * d, d));
	compare("dotInt8Rows", d, 8, 8, UNTOUCHED);
	CALL(dotInt8x4vnni, (long)out, (long)lo, (long)at[0], (long)at[1], (long)at[2], (long)at[3], d);
	for (int i = 0; i < 4; i++)
		compare("dotInt8x4", d, 4, i, dot8(lo, at[i], d));
	compare("dotInt8x4", d, 4, 4, UNTOUCHED);
	CALL(dotInt4x4vnni, (long)out, (long)lo, (long)hi, (long)at[0], (long)at[1], (long)at[2], (long)at[3], d);
	for (int i = 0; i < 4; i++)
		compare("dotInt4x4", d, 4, i, dot4(lo, hi, at[i], d));
	compare("dotInt4x4", d, 4, 4, UNTOUCHED);
}

void check(void) {
	out8(0x3fb, 0x80), out8(0x3f8, 1), out8(0x3f9, 0), out8(0x3fb, 3); // the port: fastest, 8 bits
	for (int d = 1; d <= MOST; d++)
		length(d);
	say("compared "), say_number(compared), say(", wrong "), say_number(wrong), say("\n");
	while (!(in8(0x3fd) & 0x40)) // until the last character is sent
		;
	for (const char *off = "Shutdown"; *off; off++) // Bochs ends where it is asked so
		out8(0x8900, *off);
}
