package command

// asked is the kind of the questions that the demo counts.
const asked = "asked"

// thread is the beginning of a public question's address.
const thread = "https://stackoverflow.com/questions/"

// askedQueries are 20 questions that users asked in public about Go, each in our words, short as one types it. Comments of
// public Go programs name the threads: these are the first 20 that the library answers, in the order in which a search for
// their addresses found them. Right names the entries that answer. They were judged by reading them, before the demo was
// asked for the first time.
var askedQueries = []demoQuery{
	{Thread: thread + "62000607", Query: "replace everything in a file with new text", Right: []string{"os.WriteFile", "os.Create", "os.Truncate", "os.File.Truncate"}},
	{Thread: thread + "23121026", Query: "sort records by their timestamp", Right: []string{"slices.SortFunc", "slices.SortStableFunc", "sort.Slice", "sort.SliceStable", "sort.Sort", "sort.Interface", "time.Time.Compare", "time.Time.Before"}},
	{Thread: thread + "8757389", Query: "read file one line at a time", Right: []string{"bufio.Scanner", "bufio.NewScanner", "bufio.Scanner.Scan", "bufio.ScanLines", "bufio.Reader.ReadLine", "bufio.Reader.ReadString"}},
	{Thread: thread + "14477941", Query: "select unknown columns from a table as strings", Right: []string{"database/sql.Rows.Scan", "database/sql.Rows.Columns", "database/sql.RawBytes"}},
	{Thread: thread + "22892120", Query: "random string with n characters", Right: []string{"crypto/rand.Text", "crypto/rand.Read", "math/rand.Intn", "math/rand.Read", "math/rand/v2.IntN", "math/rand/v2.N"}},
	{Thread: thread + "12518876", Query: "test whether a file exists", Right: []string{"os.Stat", "os.Lstat", "os.IsNotExist", "os.ErrInvalid", "io/fs.ErrInvalid"}},
	{Thread: thread + "25254443", Query: "midnight at the start of today", Right: []string{"time.Date", "time.Time.Date"}},
	{Thread: thread + "23558425", Query: "find out my own ip address", Right: []string{"net.InterfaceAddrs", "net.Interfaces", "net.Interface.Addrs"}},
	{Thread: thread + "48465575", Query: "parse key=value pairs into a map", Right: []string{"strings.Split", "strings.SplitN", "strings.SplitSeq", "strings.Cut", "strings.FieldsFunc", "net/url.ParseQuery"}},
	{Thread: thread + "42758054", Query: "get the bytes of an uploaded form file", Right: []string{"net/http.Request.FormFile", "net/http.Request.ParseMultipartForm", "net/http.Request.MultipartReader", "mime/multipart.FileHeader.Open", "mime/multipart.Reader.ReadForm", "mime/multipart.File", "io.ReadAll"}},
	{Thread: thread + "1760757", Query: "join many strings fast", Right: []string{"strings.Builder", "strings.Builder.WriteString", "strings.Join", "bytes.Buffer"}},
	{Thread: thread + "53419447", Query: "save a color palette as json and read it back", Right: []string{"encoding/json.Marshal", "encoding/json.Unmarshal", "encoding/json.Marshaler", "encoding/json.Unmarshaler"}},
	{Thread: thread + "17948827", Query: "reuse the connection for several http requests", Right: []string{"net/http.Client", "net/http.Client.Do", "net/http.Transport", "net/http#Clients_and_Transports"}},
	{Thread: thread + "13452914", Query: "show progress while a file uploads", Right: []string{"io.TeeReader", "net/http.Request.MultipartReader"}},
	{Thread: thread + "16466320", Query: "call a function every few seconds", Right: []string{"time.NewTicker", "time.Ticker", "time.Tick"}},
	{Thread: thread + "28322997", Query: "flag given several times into a list", Right: []string{"flag.Value", "flag.Var", "flag.Func", "flag#Usage"}},
	{Thread: thread + "16895294", Query: "http get with a time limit", Right: []string{"net/http.NewRequestWithContext", "net/http.Request.WithContext", "context.WithTimeout"}},
	{Thread: thread + "28309988", Query: "detect if a reader is gzip or plain text", Right: []string{"bufio.Reader.Peek", "compress/gzip.NewReader", "compress/gzip.ErrHeader", "net/http.DetectContentType"}},
	{Thread: thread + "37334119", Query: "remove an element from a slice", Right: []string{"slices.Delete", "slices.DeleteFunc"}},
	{Thread: thread + "34772012", Query: "write a crash's panic message to a log file", Right: []string{"runtime/debug.SetCrashOutput", "runtime/debug.Stack", "builtin.recover"}},
}
