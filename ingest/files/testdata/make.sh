#!/bin/sh
# Makes the files of the tests with other programs: LibreOffice 7.4, pandoc 2.17, nbformat 5 and Python's email and mailbox.
set -eu
cd "$(dirname "$0")"
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT

cat > "$tmp/guide.md" <<'END'
---
title: Harbour guide
author: Ann Árnadóttir
date: 2024-03-01
lang: en
---

# Install

The anchor weighs *twelve* kilograms.[^n] Zażółć gęślą jaźń.

## On Linux

Unpack the archive & run `setup`.

| Port  | Depth |
|-------|-------|
| Akureyri | eleven |
| Húsavík  | seven |

# Usage

Mooring needs two persons.

[^n]: Weighed without its chain.
END
printf '# Tides\n\n- ebb at noon\n- flood at midnight\n\n::: notes\nMention the lighthouse.\n:::\n\n# Currents\n\nThe eddy turns left.\n' > "$tmp/talk.md"
printf 'name,when,depth\nAkureyri,2024-03-01,11\n"Húsavík, north",2024-04-02,7.5\n' > "$tmp/ports.csv"

for to in docx odt epub rtf org rst latex asciidoc ipynb; do
	case $to in latex) end=tex ;; asciidoc) end=adoc ;; *) end=$to ;; esac
	pandoc -s --to "$to" -o "pandoc.$end" "$tmp/guide.md"
done
pandoc -s -o pandoc.pptx --metadata title="Sea talk" --metadata author="Ann Árnadóttir" "$tmp/talk.md"

office() { soffice -env:UserInstallation="file://$tmp/profile" --headless ${3:+"$3"} --convert-to "$1" --outdir "$tmp/out" "$2" >/dev/null 2>&1; }
cp pandoc.odt "$tmp/office.odt"
cp pandoc.pptx "$tmp/office.pptx"
cp "$tmp/ports.csv" "$tmp/office.csv"
for to in docx rtf epub odt; do office "$to" "$tmp/office.odt"; done
office odp "$tmp/office.pptx"
office pptx "$tmp/out/office.odp"
for to in xlsx ods; do office "$to" "$tmp/office.csv" --infilter='Text - txt - csv (StarCalc):44,34,76,1'; done
cp "$tmp"/out/office.* .

python3 - <<'END'
import mailbox, nbformat
from email.message import EmailMessage
from nbformat import v4

def message(n):
    m = EmailMessage()
    m["Subject"] = f"Höfn: report {n}"
    m["From"] = "Ann Árnadóttir <ann@example.org>"
    m["To"] = "bob@example.org"
    m["Date"] = "Fri, 01 Mar 2024 10:00:00 +0100"
    m["Message-ID"] = f"<{n}@example.org>"
    m.set_content(f"The buoy {n} drifts für immer.\nFrom here it goes north.\n", charset="iso-8859-1")
    m.add_alternative("<p>The <b>HTML</b> of the buoy</p>", subtype="html")
    m.add_attachment("depth;seven\n", subtype="csv", filename="depths.csv")
    m.add_attachment(b"\x89PNG\x00\x01", maintype="image", subtype="png", filename="bild ü.png")
    return m

open("python.eml", "wb").write(message(1).as_bytes())
box = mailbox.mbox("python.mbox")
box.clear()
for n in (1, 2):
    m = mailbox.mboxMessage(message(n))
    m.set_from("ann@example.org", (2024, 3, 1, 9, 0, 0, 4, 61, 0))
    box.add(m)
box.flush()

nb = v4.new_notebook(metadata={"title": "Tide tables", "authors": [{"name": "Ann Árnadóttir"}], "language_info": {"name": "python"}})
code = v4.new_code_cell("height = 3.5\nprint(height)", execution_count=1)
code.outputs = [v4.new_output("stream", name="stdout", text="3.5 metres\n"),
                v4.new_output("display_data", data={"text/plain": "<Figure of spring tide>", "image/png": "iVBORw0KGgo="}),
                v4.new_output("error", ename="ValueError", evalue="ebb below zero", traceback=["\x1b[31mline\x1b[0m"])]
nb.cells = [v4.new_markdown_cell("# Tides\n\nMeasured at noon.\n\n## Method\n\nBy a staff."), code, v4.new_raw_cell("raw words")]
for i, c in enumerate(nb.cells):
    c["id"] = f"c{i}"
nbformat.write(nb, "nbformat.ipynb")
END
