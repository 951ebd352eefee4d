package digits

import "testing"

func TestGroup(t *testing.T) {
	for number, want := range map[string]string{
		"": "", "0": "0", "999": "999", "1000": "1,000", "-999": "-999", "-1000": "-1,000", "1234567": "1,234,567",
		"12345.6789": "12,345.6789", "-0.5": "-0.5", "1.": "1.", "100000": "100,000",
	} {
		if got := Group(number); got != want {
			t.Errorf("%s is written %s, want %s", number, got, want)
		}
	}
}
