// Writes office files with the libraries of npm, and sources from which LibreOffice
// makes more, into the folder that is its argument. The contents are the same at each run.
import { writeFileSync, mkdirSync } from "node:fs";
import * as docx from "docx";
import ExcelJS from "exceljs";
import PptxGenJS from "pptxgenjs";
import XLSX from "xlsx";

const out = process.argv[2];
mkdirSync(out, { recursive: true });

let seed = 7;
const random = (n) => (seed = (seed * 48271) % 2147483647) % n;
const vocabulary = ("invoice delivery Müller straße contract river 2024 total amount garden Überweisung café naïve " +
	"日本語 привет señor quarter revenue & <tag> \"quoted\" 50% a|b under_score star*fish [bracket] x=y 3.14 e-mail").split(" ");
const sentence = (n = 6 + random(9)) => Array.from({ length: n }, () => vocabulary[random(vocabulary.length)]).join(" ");
const escape = (s) => s.replaceAll("&", "&amp;").replaceAll("<", "&lt;");

async function word(i) {
	const { Paragraph, TextRun, HeadingLevel, Table, TableRow, TableCell, ExternalHyperlink, FootnoteReferenceRun, InsertedTextRun, DeletedTextRun } = docx;
	const children = [new Paragraph({ text: sentence(4), heading: HeadingLevel.TITLE })];
	for (let s = 0; s < 3 + random(4); s++) {
		children.push(new Paragraph({ text: sentence(5), heading: s % 2 ? HeadingLevel.HEADING_2 : HeadingLevel.HEADING_1 }));
		children.push(new Paragraph({ children: [new TextRun(sentence()), new TextRun({ text: " " + sentence(2), bold: true }), new TextRun("\t" + sentence(2))] }));
		for (let b = 0; b < random(5); b++) children.push(new Paragraph({ text: sentence(3), bullet: { level: b % 3 } }));
		for (let b = 0; b < random(4); b++) children.push(new Paragraph({ text: sentence(3), numbering: { reference: "n", level: 0 } }));
	}
	children.push(new Paragraph({ children: [new ExternalHyperlink({ link: "https://example.com/x", children: [new TextRun("the site")] }), new TextRun(" note"), new FootnoteReferenceRun(1)] }));
	if (i % 2) children.push(new Paragraph({ children: [new InsertedTextRun({ text: "inserted words", id: 1, author: "Ann", date: "2024-01-01T00:00:00Z" }), new DeletedTextRun({ text: "vanished", id: 2, author: "Ann", date: "2024-01-01T00:00:00Z" })] }));
	const rows = Array.from({ length: 2 + random(5) }, () => new TableRow({ children: [1, 2, 3].map(() => new TableCell({ children: [new Paragraph(sentence(2))] })) }));
	children.push(new Table({ rows }));
	const doc = new docx.Document({
		footnotes: { 1: { children: [new Paragraph(sentence(4))] } },
		numbering: { config: [{ reference: "n", levels: [{ level: 0, format: "decimal", text: "%1.", alignment: "left" }] }] },
		sections: [{ children }],
	});
	writeFileSync(`${out}/npm-docx-${i}.docx`, await docx.Packer.toBuffer(doc));
}

async function excel(i) {
	const book = new ExcelJS.Workbook();
	for (let s = 0; s < 1 + (i % 3); s++) {
		const sheet = book.addWorksheet(`Sheet ${s} ü`);
		sheet.addRow(["name", "date", "share", "price", "time", "count", "formula", "flag"]);
		for (let r = 0; r < 10 + random(40); r++) {
			const row = sheet.addRow([sentence(3), new Date(Date.UTC(2000 + random(30), random(12), 1 + random(28))), random(1000) / 1000, random(1000000) / 100 - 2000, random(86400) / 86400, random(100000000),
				{ formula: `F${r + 2}*2`, result: 2 * r }, r % 2 === 0]);
			row.getCell(2).numFmt = ["yyyy-mm-dd", "d mmm yyyy", "dd/mm/yy", "mmmm d, yyyy"][i % 4];
			row.getCell(3).numFmt = ["0%", "0.0%", "0.00%", "0.000"][i % 4];
			row.getCell(4).numFmt = ['#,##0.00', '"$"#,##0.00', '#,##0.00 [$€-407]', '#,##0;[Red]-#,##0'][i % 4];
			row.getCell(5).numFmt = ["h:mm", "hh:mm:ss", "h:mm AM/PM", "[h]:mm"][i % 4];
			row.getCell(6).numFmt = ["0", "#,##0", "0.00E+00", "General"][i % 4];
		}
		sheet.mergeCells("J1:K2");
		sheet.getCell("J1").value = { richText: [{ text: "rich " }, { text: "text", font: { bold: true } }] };
	}
	await book.xlsx.writeFile(`${out}/npm-exceljs-${i}.xlsx`);
}

function sheetjs(i) {
	const book = XLSX.utils.book_new();
	const rows = Array.from({ length: 5 + random(30) }, (_, r) => [r, sentence(3), random(10000) / 7, r % 3 === 0 ? null : "x"]);
	XLSX.utils.book_append_sheet(book, XLSX.utils.aoa_to_sheet(rows, { origin: i % 2 ? "C4" : "A1" }), "Data");
	XLSX.writeFile(book, `${out}/npm-xlsx-${i}.${i % 2 ? "xlsx" : "ods"}`, { bookSST: i % 4 < 2 });
}

async function slides(i) {
	const deck = new PptxGenJS();
	for (let s = 0; s < 2 + random(4); s++) {
		const slide = deck.addSlide();
		slide.addText(sentence(4), { x: 1, y: 0.3, w: 8, h: 1 });
		slide.addText([1, 2, 3].map(() => ({ text: sentence(3), options: { bullet: true, breakLine: true } })), { x: 1, y: 1.5, w: 8, h: 2 });
		slide.addTable([1, 2].map(() => [1, 2, 3].map(() => ({ text: sentence(1) }))), { x: 1, y: 4, w: 8 });
		slide.addNotes("spoken " + sentence(3));
	}
	await deck.writeFile({ fileName: `${out}/npm-pptx-${i}.pptx` });
}

function sources(i) {
	const list = (tag) => `<${tag}>${Array.from({ length: 3 }, () => `<li>${escape(sentence(3))}</li>`).join("")}</${tag}>`;
	const table = `<table border=1>${Array.from({ length: 4 }, () => `<tr>${[1, 2, 3].map(() => `<td>${escape(sentence(2))}</td>`).join("")}</tr>`).join("")}</table>`;
	const body = Array.from({ length: 4 }, (_, s) => `<h${1 + (s % 3)}>${escape(sentence(4))}</h${1 + (s % 3)}><p>${escape(sentence())} <a href="https://example.com/${s}">link ${s}</a></p>${list("ul")}${list("ol")}`).join("");
	writeFileSync(`${out}/lo-text-${i}.html`, `<html><head><meta charset="utf-8"></head><body>${body}${table}</body></html>`);
	const rows = Array.from({ length: 20 + random(60) }, () => [sentence(2).replaceAll('"', ""), random(100000) / 100, `${2000 + random(30)}-0${1 + random(9)}-1${random(10)}`, random(1000)].map((v) => `"${v}"`).join(","));
	writeFileSync(`${out}/lo-sheet-${i}.csv`, "\ufeffname,amount,day,count\n" + rows.join("\n") + "\n");
}

for (let i = 0; i < 8; i++) {
	await word(i);
	await excel(i);
	sheetjs(i);
	await slides(i);
	sources(i);
}
