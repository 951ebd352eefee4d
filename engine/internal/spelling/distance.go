package spelling

// distance is the number of edits from a to b: a letter inserted, removed or replaced, or two adjacent ones
// swapped; no letter is edited twice (optimal string alignment). If it exceeds most, the result is most + 1.
func distance(a, b []rune, most int) int {
	for len(a) > 0 && len(b) > 0 && a[0] == b[0] {
		a, b = a[1:], b[1:]
	}
	for len(a) > 0 && len(b) > 0 && a[len(a)-1] == b[len(b)-1] {
		a, b = a[:len(a)-1], b[:len(b)-1]
	}
	if len(a) < len(b) {
		a, b = b, a
	}
	if len(a)-len(b) > most || len(b) >= maxLetters {
		return most + 1
	}
	if most == 1 { // what is left differs at both ends
		if len(a) < 2 || len(a) == 2 && len(b) == 2 && a[0] == b[1] && a[1] == b[0] {
			return min(len(a), 1)
		}
		return 2
	}
	var rows [3][maxLetters + 1]int
	before, last, row := &rows[0], &rows[1], &rows[2]
	for j := range len(b) + 1 {
		last[j] = j
	}
	for i := range a {
		row[0] = i + 1
		least := row[0]
		for j := range b {
			d := last[j]
			if a[i] != b[j] {
				d = 1 + min(d, last[j+1], row[j])
				if i > 0 && j > 0 && a[i] == b[j-1] && a[i-1] == b[j] {
					d = min(d, before[j-1]+1)
				}
			}
			row[j+1] = d
			least = min(least, d)
		}
		if least > most {
			return most + 1
		}
		before, last, row = last, row, before
	}
	return min(last[len(b)], most+1)
}
