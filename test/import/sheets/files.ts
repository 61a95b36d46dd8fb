import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { SheetOptions, SheetRow } from '../../../src/import/sheets/read/model.ts'
import { openSheet } from '../../../src/import/sheets/read/sheet.ts'
import { zip } from '../../files/documents.ts'

/** A folder of its own for the sheets of a test. */
export async function sheetFolder() {
  const path = await mkdtemp(join(tmpdir(), 'strongroom-sheets-'))
  return {
    path,
    /** Writes a file there and answers its path. */
    async write(name: string, content: string | Uint8Array): Promise<string> {
      const file = join(path, name)
      await writeFile(file, content)
      return file
    },
    [Symbol.asyncDispose]: () => rm(path, { recursive: true, force: true }),
  }
}

/** How a file is read, its headings, and its rows. */
export async function readSheet(file: string, options: SheetOptions = { format: 'csv' }) {
  const sheet = await openSheet(file, options)
  const rows: SheetRow[] = []
  for await (const row of sheet.rows()) rows.push(row)
  return { format: sheet.format, headings: sheet.headings, rows }
}

/** A cell of XML, or a text that becomes an inline one. */
export type XmlCell = string | { readonly xml: string }

const escaped = (text: string): string =>
  text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('"', '&quot;').replaceAll('\r', '_x000D_')

export interface XlsxParts {
  readonly sheet?: string
  readonly strings?: string
  readonly styles?: string
  readonly workbook?: string
  readonly more?: Readonly<Record<string, string | Buffer>>
}

/** The rows of a sheet as XML. */
export function sheetXml(rows: readonly (readonly XmlCell[])[]): string {
  const cell = (value: XmlCell): string =>
    typeof value === 'string'
      ? `<c t="inlineStr"><is><t xml:space="preserve">${escaped(value)}</t></is></c>`
      : value.xml
  const body = rows.map((cells, index) => `<row r="${index + 1}">${cells.map(cell).join('')}</row>`).join('')
  return `<worksheet xmlns="http://schemas.openxmlformats.org/spreadsheetml/2006/main"><sheetData>${body}</sheetData></worksheet>`
}

/** An XLSX file with one sheet, as small as spreadsheet programs still open it. */
export function xlsx({ sheet = sheetXml([]), strings, styles, workbook, more = {} }: XlsxParts): Buffer {
  return zip({
    '[Content_Types].xml': '<Types xmlns="http://schemas.openxmlformats.org/package/2006/content-types"/>',
    'xl/workbook.xml':
      workbook ??
      '<workbook xmlns:r="r"><sheets><sheet name="hidden" state="hidden" r:id="r1"/><sheet name="Werke" r:id="r2"/></sheets></workbook>',
    'xl/_rels/workbook.xml.rels':
      '<Relationships><Relationship Id="r1" Target="worksheets/none.xml"/><Relationship Id="r2" Target="worksheets/sheet1.xml"/></Relationships>',
    'xl/worksheets/sheet1.xml': sheet,
    ...(strings === undefined ? {} : { 'xl/sharedStrings.xml': strings }),
    ...(styles === undefined ? {} : { 'xl/styles.xml': styles }),
    ...more,
  })
}
