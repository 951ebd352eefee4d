"""Makes the PDF files of this folder. Needs reportlab, fpdf2, qpdf and the font DejaVu Sans."""
import subprocess

from fpdf import FPDF
from reportlab.lib.pagesizes import A4
from reportlab.lib.pdfencrypt import StandardEncryption
from reportlab.lib.styles import getSampleStyleSheet
from reportlab.pdfgen import canvas
from reportlab.platypus import PageBreak, Paragraph, SimpleDocTemplate
from reportlab.platypus.doctemplate import BaseDocTemplate, PageTemplate
from reportlab.platypus.frames import Frame

styles = getSampleStyleSheet()
text = "The quick brown fox jumps over the lazy dog while efficient offices file affidavits. " * 8


def story():
    return [
        Paragraph("Heading one", styles["Heading1"]),
        Paragraph(text, styles["Normal"]),
        PageBreak(),
        Paragraph("Second page ünïcödé", styles["Heading1"]),
        Paragraph(text, styles["Normal"]),
    ]


SimpleDocTemplate("p_simple.pdf", title="My Title", author="An Author").build(story())
SimpleDocTemplate("p_enc_user.pdf", encrypt=StandardEncryption("secret")).build(story())
SimpleDocTemplate("p_enc_owner.pdf", encrypt=StandardEncryption("", ownerPassword="o", canPrint=1)).build(story())

columns = BaseDocTemplate("p_cols.pdf", pagesize=A4)
columns.addPageTemplates([PageTemplate(frames=[Frame(50, 50, 230, 700), Frame(310, 50, 230, 700)])])
columns.build([Paragraph(f"Left para {i}. " + text[:300], styles["Normal"]) for i in range(40)])

scan = canvas.Canvas("p_scan.pdf")
scan.rect(10, 10, 100, 100, fill=1)
scan.showPage()
scan.save()

pdf = FPDF()
pdf.add_page()
pdf.add_font("D", fname="/usr/share/fonts/truetype/dejavu/DejaVuSans.ttf")
pdf.set_font("D", size=12)
pdf.multi_cell(0, 6, "Zwölf Boxkämpfer jagen Viktor. Привет мир. Ελληνικά. efficient office ﬁle. " * 5)
pdf.output("p_uni.pdf")
subprocess.run("qpdf --deterministic-id --object-streams=generate p_simple.pdf p_packed.pdf".split(), check=True)
