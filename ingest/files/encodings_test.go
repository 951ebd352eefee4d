package files_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/lexsem/lexsem/internal/testkit/trial"
)

// prose has sentences in languages that European encodings of one byte a letter write.
var prose = []struct{ language, encodings, text string }{
	{"German", "iso-8859-1 iso-8859-2 iso-8859-9 iso-8859-15 windows-1252", "Am frühen Morgen öffnete die alte Bäckerin ihr kleines Geschäft an der Brücke. Viele Schüler kauften süße Brötchen, bevor die Straßenbahn kam. Später ordnete sie müde die Münzen nach ihrer Größe und schloß die Tür."},
	{"French", "iso-8859-1 iso-8859-9 iso-8859-15 windows-1252", "Le vieux pêcheur réparait ses filets près du phare pendant que les élèves visitaient le musée. À midi, une légère brume couvrait déjà la côte. Il a préféré rentrer plus tôt, car la mer était agitée."},
	{"Spanish", "iso-8859-1 iso-8859-15 windows-1252", "La niña encontró un pequeño cuaderno debajo del árbol más viejo del jardín. Su abuelo le explicó que allí había años de anotaciones sobre la lluvia. Mañana volverán a leerlo después de la lección."},
	{"Portuguese", "iso-8859-1 iso-8859-15 windows-1252", "O irmão dela não conseguiu abrir o portão porque a chave estava na estação. Então pediu ajuda ao vizinho, que também não tinha solução. À tarde, a mãe trouxe pão e café para todos."},
	{"Italian", "iso-8859-1 iso-8859-9 iso-8859-15 windows-1252", "La città era già sveglia quando il treno arrivò lentamente. Perché nessuno lo aspettava, andò a piedi fino al caffè. Lì trovò un giornale di lunedì e la verità che cercava."},
	{"Swedish", "iso-8859-1 iso-8859-15 windows-1252", "På våren växer gräset fort och bönderna måste slå sina ängar. Några fåglar bygger bo i den gamla lådan vid sjön. Då öppnar vi fönstren och låter ljuset komma in på köksgolvet."},
	{"Danish", "iso-8859-1 iso-8859-15 windows-1252", "Børnene løb ned til åen for at se, om bådene var på plads. Vejret blev køligere, og næsten ingen ville bade længere. Sådan går det også på øen hver efterårsdag."},
	{"Finnish", "iso-8859-1 iso-8859-15 windows-1252", "Tänään metsässä oli hiljaista, eikä yhtään lintua näkynyt järven yllä. Päivä päättyi pehmeään sateeseen, ja menimme sisälle lämmittelemään. Äiti keitti keittiössä väkevää kahvia."},
	{"Icelandic", "iso-8859-1 iso-8859-15 windows-1252", "Við gengum upp á fjallið þegar sólin var að setjast og sáum út á fjörðinn. Það var kalt, en útsýnið var ótrúlegt. Á leiðinni heim fundum við bláber og ræddum um gömlu húsin."},
	{"Czech", "iso-8859-2 windows-1250", "Žlutý vlak přijel pozdě večer a všichni cestující byli velmi unavení. Starší paní se zeptala Jiřího, kde může najít nejbližší dům. Příští den začalo hustě pršet, a proto jsme zůstali v knihovně u řeky."},
	{"Slovak", "iso-8859-2 windows-1250", "Včera sme šli ďaleko za mesto, aby sme videli starý mlyn pri potoku. Dážď prestal až večer, keď už svietili hviezdy. Môj dedko tvrdí, že ľudia tu kedysi žili šťastnejšie."},
	{"Polish", "iso-8859-2 windows-1250", "Wczoraj późnym wieczorem wróciliśmy znad jeziora, gdzie łowiliśmy ryby. Sąsiadka przyniosła świeży chleb i gęsty miód. Być może jutro pójdziemy jeszcze raz, jeśli przestanie padać śnieg i zaświeci słońce."},
	{"Hungarian", "iso-8859-2 windows-1250", "Az öreg könyvtáros minden reggel ugyanazt az újságot olvasta a kertben. Később megérkeztek a gyerekek, és történeteket kértek tőle. Ősszel, amikor hűvösebb lett, inkább a fűtött szobában ültek együtt."},
	{"Croatian", "iso-8859-2 windows-1250", "Djeca su cijelo popodne tražila izgubljenog psa u šumi iza škole. Naposljetku ga je našao stari učitelj, koji živi u kući pokraj ceste. Svi su bili sretni što će večeras moći mirno spavati."},
	{"Slovenian", "iso-8859-2 windows-1250", "Včasih se zdi, da čas v naši vasi teče počasneje kot drugod. Sosed še vedno žanje travo s koso, čeprav bi lahko kupil stroj. Pravi, da mu tišina zjutraj pomeni več kot denar."},
	{"Russian", "iso-8859-5 windows-1251 koi8-r", "Вчера вечером мы долго гуляли вдоль реки и говорили о новой книге. Потом начался дождь, и пришлось вернуться домой. Утром сосед принёс свежий хлеб, а бабушка сварила кофе для всех гостей."},
	{"Bulgarian", "iso-8859-5 windows-1251", "Старият учител живееше сам в къща до гората и всяка сутрин хранеше птиците. Децата от селото идваха при него да слушат приказки. През зимата снегът затрупваше пътя и никой не идваше."},
	{"Serbian", "iso-8859-5 windows-1251", "Када је стигло пролеће, људи су изашли у воћњаке и почели да раде. Мој деда је говорио да земља памти сваку руку. Увече бисмо седели испод ораха и ћутали док сунце залази иза брда."},
	{"Ukrainian", "windows-1251 koi8-u", "Уранці ми пішли на ринок, щоб купити яблука та свіжий сир. Дорогою зустріли вчительку, яка їхала до міста потягом. Увечері бабуся розповідала, як колись її родина жила біля моря."},
	{"Greek", "iso-8859-7 windows-1253", "Το πρωί ο παλιός ψαράς κατέβηκε στο λιμάνι και κοίταξε τη θάλασσα. Τα παιδιά έπαιζαν κοντά στην εκκλησία και φώναζαν δυνατά. Αργότερα άρχισε να βρέχει και όλοι γύρισαν στο σπίτι."},
	{"Turkish", "iso-8859-9 windows-1254", "Küçük köyümüzde her sabah aynı horoz öter ve kadınlar çeşmeye gider. Dün akşam yağmur yağdı, bu yüzden çocuklar dışarı çıkamadı. Öğretmen onlara güneşli günler hakkında güzel bir şarkı öğretti."},
	{"Lithuanian", "windows-1257 iso-8859-13", "Vakar vakare ilgai vaikščiojome palei upę ir kalbėjome apie vaikystę. Šį rytą kaimynė atnešė šviežių obuolių iš savo sodo. Žiemą čia būna labai tylu, nes kelią užpusto sniegas."},
	{"Latvian", "windows-1257 iso-8859-13", "Vakarā mēs sēdējām pie jūras un klausījāmies, kā šalc priedes. Vecāmāte stāstīja par laikiem, kad šeit dzīvoja zvejnieki. Rīt brauksim mājās, jo bērniem jāiet uz skolu."},
}

// english and code are in ASCII: a manual, which may name people and places.
const english = "This module reads a document from a handle and calls the methods of a handler for each event that it meets. A parser may be used again after it has returned, but not by two threads at once. See the manual for options that change how names are resolved. Bugs that were reported by users of earlier versions have been corrected, and the tests were extended by some of their files. "
const code = "#define XQZ_BK KVJ_WX\nqxvk(zjw,kqx)||jvxz[wqk];vzk->{jqx}(zvw(kxj));\nWJX_KQ=>'vzx.qkj',//bzx[@qvk='zxw']/xkj()\nzzq_jkx{kqz,zvx}..gzxq&&cpvx_zkj|qwx/xfzs/kjq_sdxb\nKXW_VJQ|ZXK_QJV|JXQ_WKZ jqk=&wvx_zq->kxj;\n"

// TestEuropean reads texts in encodings of one byte a letter: prose of several lengths, and English or code with some
// words of another language, each of them alone or often. None is read in pairs of bytes, which would join its letters to characters of East
// Asia.
func TestEuropean(t *testing.T) {
	seed := trial.Seed(t)
	rounds := trial.Rounds(t, 1, 100)
	for _, p := range prose {
		for _, name := range strings.Fields(p.encodings) {
			bad, all, example := 0, 0, ""
			try := func(text string) {
				all++
				if got, _ := textOf(t, "a.txt", encoded(t, name, text)); wide(got) {
					bad++
					example = got
				}
			}
			for _, word := range strings.Fields(p.text) {
				for _, around := range []string{english, code} {
					try(around[:190] + word + " " + around)
					if strings.ContainsAny(p.text, "ae") { // of Latin letters: another word alone has too few to tell
						try(strings.Repeat(word+"=x;", 18) + around)
					}
				}
			}
			for round := range rounds {
				r := rand.New(rand.NewPCG(seed+uint64(round), 46))
				for _, size := range []int{200, 400, 1000, 2000, 5000} {
					for _, share := range []float64{1, 0.3, 0.1, 0.03} {
						try(mixed(r, p.text, []string{english, code}[r.IntN(2)], size, share))
					}
				}
			}
			if bad > 0 {
				t.Errorf("%s in %s: %d of %d are read in pairs: %.300q", p.language, name, bad, all, example)
			}
		}
	}
}

// mixed is a text of size letters: words of text in a share of places, else of other.
func mixed(r *rand.Rand, text, other string, size int, share float64) string {
	words, others := strings.Fields(text), strings.Fields(other)
	var b strings.Builder
	for b.Len() < size {
		from, n := words, 1+r.IntN(3)
		if r.Float64() >= share {
			from = others
		}
		at := r.IntN(len(from))
		for _, w := range from[at:min(len(from), at+n)] {
			b.WriteString(w)
			b.WriteByte(" \n"[r.IntN(12)/11])
		}
	}
	return b.String()
}

// asian has sentences in languages that encodings of several bytes a letter write.
var asian = []struct{ language, encodings, text string }{
	{"Japanese", "euc-jp shift_jis", "昨日の夕方、古い駅の前で友だちを待っていた。雨が降り始めたので、近くの本屋に入って新しい雑誌を読んだ。祖母は毎朝早く起きて、庭の花に水をやる。来週の会議では、予算と日程について話し合う予定です。このプログラムは入力ファイルを読み、エラーがあれば行番号を表示します。子どもたちは川で魚を捕まえようとしたが、一匹も取れなかった。冬になると山の道は雪で閉ざされ、村へ行くバスも止まる。"},
	{"simplified Chinese", "gb18030 gbk", "昨天晚上我和朋友在河边散步，后来下起了大雨。老师让学生把课本打开，认真读第三章。这座城市的夏天很热，所以很多人喜欢去山里度假。如果程序找不到配置文件，它会使用默认的设置。我的祖父年轻的时候在一家工厂工作了三十年。请在提交报告之前检查所有的数字和日期。孩子们在院子里种了两棵苹果树，希望明年能吃到果子。"},
	{"traditional Chinese", "big5", "昨天晚上我和朋友在河邊散步，後來下起了大雨。老師讓學生把課本打開，認真讀第三章。這座城市的夏天很熱，所以很多人喜歡去山裡度假。如果程式找不到設定檔，它會使用預設的選項。我的祖父年輕的時候在一家工廠工作了三十年。請在提交報告之前檢查所有的數字和日期。孩子們在院子裡種了兩棵蘋果樹，希望明年能吃到果子。"},
	{"Korean", "euc-kr", "어제 저녁에 친구와 함께 강가를 걷다가 갑자기 비가 내리기 시작했다. 할머니는 매일 아침 일찍 일어나서 마당의 꽃에 물을 주신다. 다음 주 회의에서는 예산과 일정에 대해 이야기할 예정입니다. 이 프로그램은 설정 파일을 찾지 못하면 기본값을 사용합니다. 아이들은 학교가 끝난 뒤 운동장에서 공을 차며 놀았다. 겨울이 되면 산길이 눈으로 막혀 마을로 가는 버스도 멈춘다."},
}

// TestAsian reads texts of 40 letters and more in encodings of several bytes a letter, some with English between them.
func TestAsian(t *testing.T) {
	seed := trial.Seed(t)
	rounds := trial.Rounds(t, 10, 400)
	for _, p := range asian {
		letters := []rune(p.text + p.text)
		for _, name := range strings.Fields(p.encodings) {
			bad, all, example := 0, 0, ""
			for round := range rounds {
				r := rand.New(rand.NewPCG(seed+uint64(round), 47))
				for _, size := range []int{40, 50, 70, 100, 200, 400, 2000} {
					var b strings.Builder
					for left := size; left > 0; {
						at := r.IntN(len(letters) / 2)
						part := letters[at:min(len(letters), at+left)]
						b.WriteString(string(part))
						if left -= len(part); r.IntN(3) == 0 {
							b.WriteString(mixed(r, english, english, r.IntN(200), 1))
						}
					}
					text := strings.TrimSpace(b.String())
					all++
					if got, _ := textOf(t, "a.txt", encoded(t, name, text)); got != text {
						bad++
						example = fmt.Sprintf("%q for %q", got, text)
					}
				}
			}
			if bad > 0 {
				t.Errorf("%s in %s: %d of %d are read wrong: %.600s", p.language, name, bad, all, example)
			}
		}
	}
}

// TestLabels: a page, a mail and a page in a mail are read right if their label is right, and also if they are UTF-8 with the label
// of any other encoding.
func TestLabels(t *testing.T) {
	page := func(label, text string) string {
		return "<html><head><meta charset=" + label + "></head><body><p>" + text + "</p></body></html>"
	}
	mail := func(kind, label, body string) string {
		return "From: a\r\nContent-Type: text/" + kind + "; charset=" + label + "\r\n\r\n" + body
	}
	var labels []string
	texts := map[string][]string{} // of each encoding
	for _, p := range slices.Concat(prose, asian) {
		for _, label := range strings.Fields(p.encodings) {
			labels, texts[label] = append(labels, label), append(texts[label], p.text)
		}
	}
	slices.Sort(labels)
	for _, label := range slices.Compact(labels) {
		try := func(text string, stored func(string) string) {
			t.Helper()
			for name, in := range map[string]string{"a.html": page(label, stored(text)), "a.eml": mail("plain", label, stored(text)), "b.eml": mail("html", label, page(label, stored(text))), "c.eml": mail("html", "utf-8", page(label, text))} {
				if got, _ := textOf(t, name, in); got != text {
					t.Errorf("%s with the label %s: %.100q, want %.100q", name, label, got, text)
				}
			}
		}
		for _, text := range texts[label] {
			try(text, func(s string) string { return encoded(t, label, s) })
		}
		for _, p := range slices.Concat(prose, asian) {
			try(p.text, func(s string) string { return s })
			if strings.Contains(label, "iso") || strings.Contains(label, "windows") || strings.Contains(label, "koi8") {
				words := strings.Fields(p.text)
				for _, word := range words[:min(len(words), 6)] {
					try(word, func(s string) string { return s })
				}
			}
		}
	}
	for _, label := range []string{"windows-874", "tis-620"} { // likewise
		if got, _ := textOf(t, "a.html", page(label, encoded(t, label, "แขก"))); got != "แขก" {
			t.Errorf("%s: %q", label, got)
		}
	}
	for _, label := range []string{"gbk", "gb18030", "gb2312"} { // a word that is valid UTF-8, too
		if got, _ := textOf(t, "a.html", page(label, encoded(t, "gbk", "联通"))); got != "联通" {
			t.Errorf("%s: %q", label, got)
		}
	}
}

// wide reports whether a text has characters of East Asia.
func wide(text string) bool {
	return strings.ContainsFunc(text, func(r rune) bool { return r >= 0x2e80 && r < 0xfb00 || r >= 0xff00 && r < 0xfff0 || r >= 0x20000 })
}
