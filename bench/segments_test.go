package bench

import (
	"slices"
	"strings"
	"testing"
)

// TestSegments: in scripts without blanks, characters that recur together are words, and others keep their words.
func TestSegments(t *testing.T) {
	passages := []string{"高楼和大桥", "一座大桥，高楼。", "Don't 使用GPU加速 twice", "使用CPU加速", "ภาษาไทยง่าย", "ภาษาไทย"}
	g := newSegments(passages)
	for i, want := range []string{"高楼 大桥", "大桥 高楼", "don't 使用 gpu 加速 twice", "使用 cpu 加速"} {
		var got []string
		g.words(passages[i], func(w string) { got = append(got, w) })
		if s := strings.Join(got, " "); s != want {
			t.Errorf("words of %q: %q, want %q", passages[i], s, want)
		}
	}
	var thai []string
	g.words(passages[5], func(w string) { thai = append(thai, w) })
	if s := strings.Join(thai, ""); s == "" || !strings.Contains(passages[5], thai[0]) {
		t.Errorf("words of Thai: %q", thai)
	}
	for in, want := range map[string][]string{
		" two words ":  {"two", "words"},
		"高楼。 大桥 GPU卡":  {"高", "楼。", "大", "桥", "GPU", "卡"},
		"ง่าย":         {"ง่", "า", "ย"},
		"東京タワー2階":      {"東", "京", "タ", "ワ", "ー", "2", "階"},
		"안녕 하세요":       {"안녕", "하세요"},
		"":             nil,
		"\xff\xfe bad": {"\xff\xfe", "bad"},
	} {
		var got []string
		for _, f := range fields(in) {
			got = append(got, in[f.start:f.end])
		}
		if !slices.Equal(got, want) {
			t.Errorf("fields of %q: %q, want %q", in, got, want)
		}
	}
}
