package command

// asked is the kind of the questions that the demo counts.
const asked = "asked"

// thread is the beginning of a public question's address.
const thread = "https://stackoverflow.com/questions/"

// askedQueries are 20 questions that users asked in public about Go, short as one types them, in the terms of the thread.
// Comments of public Go programs name the threads: these are the first 20 that the library answers, in the order in which a
// search for their addresses found them. Right names the entries that answer; it was judged before the first search.
var askedQueries = []demoQuery{
	{Thread: thread + "62000607", Query: "overwrite the content of a file", Right: []string{"os.WriteFile", "os.Create", "os.Truncate", "os.File.Truncate"}},
	{Thread: thread + "23121026", Query: "sort by time.Time", Right: []string{"slices.SortFunc", "slices.SortStableFunc", "sort.Slice", "sort.SliceStable", "sort.Sort", "sort.Interface", "time.Time.Compare", "time.Time.Before"}},
	{Thread: thread + "8757389", Query: "read a file line by line", Right: []string{"bufio.Scanner", "bufio.NewScanner", "bufio.Scanner.Scan", "bufio.ScanLines", "bufio.Reader.ReadLine", "bufio.Reader.ReadString"}},
	{Thread: thread + "14477941", Query: "read the columns of a select into strings", Right: []string{"database/sql.Rows.Scan", "database/sql.Rows.Columns", "database/sql.RawBytes"}},
	{Thread: thread + "22892120", Query: "random string of fixed length", Right: []string{"crypto/rand.Text", "crypto/rand.Read", "math/rand.Intn", "math/rand.Read", "math/rand/v2.IntN", "math/rand/v2.N"}},
	{Thread: thread + "12518876", Query: "check if a file exists", Right: []string{"os.Stat", "os.Lstat", "os.IsNotExist", "os.ErrInvalid", "io/fs.ErrInvalid"}},
	{Thread: thread + "25254443", Query: "beginning of the local day", Right: []string{"time.Date", "time.Time.Date"}},
	{Thread: thread + "23558425", Query: "local ip address of this machine", Right: []string{"net.InterfaceAddrs", "net.Interfaces", "net.Interface.Addrs"}},
	{Thread: thread + "48465575", Query: "split a string into a map", Right: []string{"strings.Split", "strings.SplitN", "strings.SplitSeq", "strings.Cut", "strings.FieldsFunc", "net/url.ParseQuery"}},
	{Thread: thread + "42758054", Query: "read multipart form data into bytes", Right: []string{"net/http.Request.FormFile", "net/http.Request.ParseMultipartForm", "net/http.Request.MultipartReader", "mime/multipart.FileHeader.Open", "mime/multipart.Reader.ReadForm", "mime/multipart.File", "io.ReadAll"}},
	{Thread: thread + "1760757", Query: "efficient way to concatenate strings", Right: []string{"strings.Builder", "strings.Builder.WriteString", "strings.Join", "bytes.Buffer"}},
	{Thread: thread + "53419447", Query: "color palette to json and back", Right: []string{"encoding/json.Marshal", "encoding/json.Unmarshal", "encoding/json.Marshaler", "encoding/json.Unmarshaler"}},
	{Thread: thread + "17948827", Query: "reuse http connections", Right: []string{"net/http.Client", "net/http.Client.Do", "net/http.Transport", "net/http#Clients_and_Transports"}},
	{Thread: thread + "13452914", Query: "track the progress of an upload", Right: []string{"io.TeeReader", "net/http.Request.MultipartReader"}},
	{Thread: thread + "16466320", Query: "repeat a task at intervals", Right: []string{"time.NewTicker", "time.Ticker", "time.Tick"}},
	{Thread: thread + "28322997", Query: "flag with a list of values", Right: []string{"flag.Value", "flag.Var", "flag.Func", "flag#Usage"}},
	{Thread: thread + "16895294", Query: "set a timeout for http get", Right: []string{"net/http.NewRequestWithContext", "net/http.Request.WithContext", "context.WithTimeout"}},
	{Thread: thread + "28309988", Query: "reader of either gzip or plain text", Right: []string{"bufio.Reader.Peek", "compress/gzip.NewReader", "compress/gzip.ErrHeader", "net/http.DetectContentType"}},
	{Thread: thread + "37334119", Query: "delete an element of a slice", Right: []string{"slices.Delete", "slices.DeleteFunc"}},
	{Thread: thread + "34772012", Query: "capture a panic to log it", Right: []string{"runtime/debug.SetCrashOutput", "runtime/debug.Stack", "builtin.recover"}},
}
