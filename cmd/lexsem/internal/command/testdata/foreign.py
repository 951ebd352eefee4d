"""Makes files with other programs for TestForeignFiles: foreign.py FOLDER. It prints one JSON line a file, with the words
that a search must find, or with "named", what `index --problems` must say of it instead. Programs that are not installed
are named on standard error, and what those that are installed in part cannot make."""
import csv, email.message, gzip, io, json, mailbox, os, shutil, sqlite3, struct, subprocess, sys, tempfile, zipfile, zlib

out, tmp = sys.argv[1], tempfile.mkdtemp()
TEXTS = [  # name, a sentence, a word of it, the encodings that hold it
    ("en", "The mooring holds two vessels at low water.", "mooring", ["UTF-16", "UTF-16LE", "UTF-32"]),
    ("de", "Der Anker wiegt zwölf Pfund, größer als je zuvor.", "zwölf", ["ISO-8859-1", "CP1252"]),
    ("fr", "Le garçon mange à la forêt où l'été brûle.", "forêt", ["ISO-8859-15", "UTF-16BE"]),
    ("pl", "Zażółć gęślą jaźń, a łódź płynie dalej.", "gęślą", ["UTF-16"]),
    ("ru", "Корабли стоят у причала сегодня утром рано.", "причала", ["KOI8-R", "CP1251"]),
    ("el", "Η θάλασσα είναι ήρεμη σήμερα και τα πλοία περιμένουν.", "ήρεμη", ["CP1253"]),
    ("ja", "これは港の潮汐についての文章です。船が停泊しています。", "潮汐", ["SHIFT_JIS", "EUC-JP"]),
    ("zh", "这是关于港口潮汐的文章。船只停泊在码头。", "码头", ["GBK"]),
    ("tw", "這是關於港口潮汐的文章。船隻停泊在碼頭。", "碼頭", ["BIG5"]),
    ("ko", "이것은 항구의 조류에 관한 글입니다. 배가 정박해 있습니다.", "항구의", ["EUC-KR"]),
    ("he", "הים שקט היום והספינות מחכות בנמל.", "שקט", ["CP1255"]),
]

def path(name): return os.path.join(out, name)
def tell(name, words, **more): os.path.exists(path(name)) and print(json.dumps({"file": name, "words": words, **more}))
def put(name, data, words, **more):
    if data is None: return
    with open(path(name), "wb") as f: f.write(data if isinstance(data, bytes) else data.encode())
    tell(name, words, **more)
def run(*args, **more):
    done = subprocess.run(args, stdout=subprocess.PIPE, stderr=subprocess.PIPE, **more)
    if not done.returncode: return done.stdout
    print("not made:", *args, done.stderr.decode(errors="replace").strip(), file=sys.stderr)
def there(*programs):
    lacks = [p for p in programs if not shutil.which(p)]
    if lacks: print("not made: files of", ", ".join(lacks), file=sys.stderr)
    return not lacks
def mark(of, n): return f"zq{of}x{n:02d}"
def marks(of, n): return [mark(of, i) for i in range(n)]
LEFT = "left out"  # a kind that is not read

def chunk(kind, data): return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))
with open(tmp + "/pic.png", "wb") as f:
    f.write(b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", struct.pack(">IIBBBBB", 8, 8, 8, 0, 0, 0, 0)) + chunk(b"IDAT", zlib.compress(b"\x00" + b"\x7f" * 8)) + chunk(b"IEND", b""))

def guide(of, sentence):
    m = lambda n: mark(of, n)
    return f"""---
title: "Guide {m(0)}"
author: Ann Árnadóttir
date: 2024-03-01
---

# Install {m(1)}

{sentence} The *word* {m(2)} has a note.[^n]

## On Linux {m(3)}

- first {m(4)}
    - nested {m(5)}
        1. deeper {m(6)}
- last {m(7)}

| Port {m(8)} | Depth |
|---|---|
| {m(9)} | eleven {m(10)} |

> Quoted {m(11)}

```python
x = '{m(12)}'
```

Term {m(13)}

:   Definition {m(14)}

![Caption {m(15)}]({tmp}/pic.png)

# Usage {m(16)}

A [link {m(17)}](http://example.org), `code {m(18)}` and the last paragraph {m(19)}.

[^n]: Footnote {m(20)}
"""

guides = {of: marks(of, 21) + [word] for of, _, word, _ in TEXTS}
if there("pandoc"):
    for of, sentence, _, _ in TEXTS:
        put(f"pandoc-{of}.md", guide(of, sentence), guides[of])
        for to, end in [("docx",) * 2, ("odt",) * 2, ("epub",) * 2, ("rtf",) * 2, ("html",) * 2, ("org",) * 2, ("rst",) * 2, ("latex", "tex"), ("asciidoc", "adoc"), ("ipynb",) * 2, ("pptx",) * 2, ("plain", "txt"), ("gfm", "markdown")]:
            name = f"pandoc-{of}.{end}"
            run("pandoc", "-s", "--wrap=none", "--to", to, "-o", path(name), path(f"pandoc-{of}.md"))
            skip = {"ipynb": [mark(of, 0)], "rtf": [mark(of, 15)]}.get(to, [])  # which pandoc does not write: a title, a caption
            tell(name, [w for w in guides[of] if w not in skip])
    for to, end in [("docbook", "xml"), ("fb2", "fb2"), ("textile", "textile"), ("man", "1")]:
        run("pandoc", "-s", "--to", to, "-o", path(f"pandoc-en.{end}"), path("pandoc-en.md"))
        tell(f"pandoc-en.{end}", [], named=LEFT)

rows = [["id", "title", "text", "depth"]] + [[str(i), f'a "title", {i}', f"line one {mark('cell', i)}\nline; two", "7.5"] for i in range(12)]
for d, (name, dialect, code) in enumerate([("excel.csv", csv.excel, "utf-8-sig"), ("unix.csv", csv.unix_dialect, "utf-8"), ("tab.tsv", csv.excel_tab, "utf-8"), ("wide.csv", csv.excel, "utf-16")]):
    table = io.StringIO(); csv.writer(table, dialect).writerows(rows)
    put(name, table.getvalue().encode(code), marks("cell", 12))
for d, options in enumerate([{}, {"indent": 2}, {"ensure_ascii": False, "indent": "\t"}]):
    records = [{"id": i, "title": "tide", "text": f"{TEXTS[d][1]} {mark('json', i)}", "k": {"a": [1, None]}} for i in range(10)]
    put(f"json-{d}.json", json.dumps(records, **options), marks("json", 10))
    put(f"json-{d}.jsonl", "\n".join(map(json.dumps, records)), marks("json", 10))
put("lines.jsonl.gz", gzip.compress("\n".join(map(json.dumps, records)).encode()), marks("json", 10))
put("guide.md.gz", gzip.compress(guide("gz", TEXTS[0][1]).encode()), marks("gz", 21))
sqlite3.connect(path("tides.sqlite")).execute("create table t (text)").connection.close()
tell("tides.sqlite", [], named=LEFT)
with zipfile.ZipFile(path("all.zip"), "w") as z: z.writestr("a.txt", "packed")
tell("all.zip", [], named=LEFT)

def message(of, sentence, code, kind):
    m = email.message.EmailMessage()
    m["Subject"], m["From"], m["To"], m["Message-ID"] = f"Re: {sentence} {mark(of, 0)}", "Ann <ann@example.org>", "bob@example.org", f"<{of}@example.org>"
    m.set_content(f"{sentence}\n{mark(of, 1)}\n> quoted {mark(of, 2)}\n", charset=code)
    if kind == 0: m.add_alternative(f"<p>{mark(of, 1)}</p>", subtype="html")
    if kind == 1: m.add_attachment(f"attached {mark(of, 3)}\n", filename="a.txt")
    if kind == 2:
        inner = email.message.EmailMessage(); inner["Subject"] = "inner"; inner.set_content(f"forwarded {mark(of, 3)}"); m.add_attachment(inner)
    return m
for n, (of, code) in enumerate(zip(["en", "de", "fr", "pl", "ru", "el", "ja", "zh", "tw", "ko"], ["us-ascii", "iso-8859-1", "windows-1252", "iso-8859-2", "koi8-r", "iso-8859-7", "iso-2022-jp", "gb2312", "big5", "euc-kr"])):
    _, sentence, word, _ = next(t for t in TEXTS if t[0] == of)
    put(f"{of}.eml", message(of, sentence, code, n % 3).as_bytes(), marks(of, 3 + (n % 3 > 0)) + [word])
for of, sentence, word, _ in TEXTS[:5]:
    box = mailbox.mbox(path(f"{of}.mbox"))
    for n in range(8):
        m = mailbox.mboxMessage(); m["Subject"], m["Message-ID"] = f"m{n}", f"<{of}{n}@example.org>"
        m.set_payload(f"From the start {mark(of, n)}\n\nFrom here\n{sentence}\n", charset="utf-8"); box.add(m)
    box.flush(); box.close()
    tell(f"{of}.mbox", marks(of, 8) + [word])

if there("iconv"):
    for of, sentence, word, codes in TEXTS:
        text = "".join(f"{sentence} {mark(of, n)}\n" for n in range(10))
        for code in codes:
            put(f"{of}-{code}.txt", run("iconv", "-f", "UTF-8", "-t", code, input=text.encode()), marks(of, 10) + [word], may="not UTF-8")

if there("groff"):
    page = f".TH HARBOUR 1 2024-03-01\n.SH NAME {mark('roff', 0)}\nharbour\n.SH DESCRIPTION\nIt moors {mark('roff', 1)}\n.TP\n.B \\-a\n{mark('roff', 2)}\n"
    for device, name in [("html", "groff.html"), ("utf8", "groff.txt"), ("pdf", "groff.pdf"), ("ps", "groff.ps")]:
        put(name, run("groff", "-man", "-T", device, input=page.encode()), marks("roff", 3), **({"named": LEFT} if device == "ps" else {}))
    if there("gs"):
        run("gs", "-q", "-dNOPAUSE", "-dBATCH", "-sDEVICE=pdfwrite", f"-sOutputFile={path('gs.pdf')}", path("groff.ps")); tell("gs.pdf", marks("roff", 3))
        for device, words in [("pdfimage8", None), ("ps2write", LEFT)]:
            name = "gs-scan.pdf" if words is None else "gs.ps"
            run("gs", "-q", "-dNOPAUSE", "-dBATCH", f"-sDEVICE={device}", f"-sOutputFile={path(name)}", path("groff.ps")); tell(name, [], named=words or "no text")
    if there("qpdf"):
        for n, how in enumerate([["--linearize"], ["--object-streams=generate"], ["--qdf"], ["--encrypt", "", "o", "256", "--"]]):
            run("qpdf", *how, path("groff.pdf"), path(f"qpdf-{n}.pdf")); tell(f"qpdf-{n}.pdf", marks("roff", 3))
        run("qpdf", "--encrypt", "u", "o", "256", "--", path("groff.pdf"), path("locked.pdf")); tell("locked.pdf", [], named="encrypted")

def office(to, end, sources, words, **more):
    made = tmp + "/" + to.replace(":", "-")
    subprocess.run(["soffice", f"-env:UserInstallation=file://{tmp}/profile", "--headless", *more.pop("how", []), "--convert-to", to, "--outdir", made, *map(path, sources)], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    for s in sources:
        stem, was = s.rsplit(".", 1); name = f"office-{stem}-{was}.{end}"
        if os.path.exists(f"{made}/{stem}.{end}"):
            shutil.move(f"{made}/{stem}.{end}", path(name)); tell(name, words(s), **more)
        else: print(f"not made: {name}", file=sys.stderr)
if there("pandoc", "soffice"):
    of = lambda s: guides[s.split("-")[1].split(".")[0]]
    book = lambda s: [w for w in of(s) if not w.endswith("x08")]  # LibreOffice writes no heads of tables into books
    some = lambda end, n: [f"pandoc-{t[0]}.{end}" for t in TEXTS[:n]]
    for to, end, sources in [("odt", "odt", some("docx", 6)), ("rtf", "rtf", some("docx", 6)), ("docx", "docx", some("odt", 6)), ("pdf", "pdf", some("docx", 6)), ("html", "html", some("docx", 3)), ("odp", "odp", some("pptx", 5)), ("pdf", "pdf", some("pptx", 4)), ("fodt", "fodt", some("docx", 3)), ("fodp", "fodp", some("pptx", 3))]:
        office(to, end, sources, of)
    office("epub", "epub", some("odt", 4), book)
    office("pptx", "pptx", ["office-pandoc-en-pptx.odp", "office-pandoc-de-pptx.odp"], lambda s: guides[s.split("-")[2]])
    sheet = marks("cell", 12)
    for to in ["xlsx", "ods", "fods"]: office(to, to, ["excel.csv", "unix.csv"], lambda s: sheet, how=["--infilter=Text - txt - csv (StarCalc):44,34,76,1"])
    office("csv", "csv", ["office-excel-csv.xlsx"], lambda s: sheet)
    for to, source in [("doc", "pandoc-en.docx"), ("xls", "office-excel-csv.xlsx"), ("ppt", "pandoc-en.pptx")]: office(to, to, [source], lambda s: [], named=LEFT)

def library(name):
    try: return __import__(name)
    except ImportError: print("not made: files of the Python library", name, file=sys.stderr)
if library("nbformat"):
    import nbformat; from nbformat import v4
    for version in (3, 4):
        cell = v4.new_code_cell(f"x = '{mark('nb', 2)}'"); cell.outputs = [v4.new_output("stream", text=mark("nb", 3) + "\n")]
        book = v4.new_notebook(cells=[v4.new_markdown_cell(f"# Title {mark('nb', 0)}\n\n{mark('nb', 1)}"), cell, v4.new_raw_cell(mark("nb", 4))])
        nbformat.write(nbformat.convert(book, version), path(f"nbformat-{version}.ipynb"), version=version); tell(f"nbformat-{version}.ipynb", marks("nb", 5))
if library("openpyxl"):
    import openpyxl; book = openpyxl.Workbook(); book.active.title = mark("xl", 0)
    for i in range(6): book.active.append([mark("xl", 1 + i), i, 3.5, None, True])
    far = book.create_sheet("Second"); far["D40"], far["A5"] = mark("xl", 7), mark("xl", 8); far.merge_cells("A5:C5")
    book.save(path("openpyxl.xlsx")); tell("openpyxl.xlsx", marks("xl", 9))
if library("docx"):
    import docx; paper = docx.Document(); paper.add_heading(mark("dx", 0), 0); paper.add_paragraph(mark("dx", 1)).add_run(" bold").bold = True
    table = paper.add_table(2, 2); table.cell(0, 0).text = mark("dx", 2); table.cell(1, 1).text = mark("dx", 3); paper.add_page_break(); paper.add_paragraph(mark("dx", 4), style="List Bullet")
    paper.save(path("python-docx.docx")); tell("python-docx.docx", marks("dx", 5))
if library("pptx"):
    import pptx; show = pptx.Presentation(); slide = show.slides.add_slide(show.slide_layouts[1]); slide.shapes.title.text, slide.placeholders[1].text, slide.notes_slide.notes_text_frame.text = marks("px", 3)
    slide.shapes.add_table(2, 2, 0, 0, 1000000, 1000000).table.cell(0, 0).text = mark("px", 3); slide.shapes.add_group_shape().shapes.add_textbox(0, 0, 1, 1).text_frame.text = mark("px", 4)
    show.save(path("python-pptx.pptx")); tell("python-pptx.pptx", marks("px", 5))
if library("reportlab"):
    from reportlab.platypus import PageBreak, Paragraph, SimpleDocTemplate, Table; from reportlab.lib.styles import getSampleStyleSheet
    style = getSampleStyleSheet()["Normal"]
    SimpleDocTemplate(path("reportlab.pdf")).build([Paragraph(mark("rl", 0), style), PageBreak(), Table([[mark("rl", 1), mark("rl", 2)]])]); tell("reportlab.pdf", marks("rl", 3))
if library("pyarrow"):
    import pyarrow, pyarrow.parquet
    for how in ["none", "snappy", "gzip", "zstd", "brotli"]:
        pyarrow.parquet.write_table(pyarrow.table({"id": list(range(8)), "text": marks("pq", 8), "l": [[1, 2]] * 8}), path(f"pyarrow-{how}.parquet"), compression=how); tell(f"pyarrow-{how}.parquet", marks("pq", 8))
shutil.rmtree(tmp)
