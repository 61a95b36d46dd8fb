/** Sheets of a workbook as XML (ECMA-376), a row at a time. */
import { xmlText } from '../../xml/markup.ts'
import type { CellValue } from '../cell.ts'

/** Most rows of a sheet. */
export const mostRows = 1_048_576
export const mostColumns = 16_384
const longestText = 32_767

/** Styles of `styles.xml`. */
const heading = 1
const textStyle = 2

export const sheetStart = (pictures: boolean): string =>
  '<?xml version="1.0" encoding="UTF-8" standalone="yes"?>\n' +
  '<worksheet xmlns="http://schemas.openxmlformats.org/spreadsheetml/2006/main" ' +
  'xmlns:r="http://schemas.openxmlformats.org/officeDocument/2006/relationships">' +
  '<sheetViews><sheetView workbookViewId="0"><pane ySplit="1" topLeftCell="A2" activePane="bottomLeft" state="frozen"/>' +
  `</sheetView></sheetViews>${pictures ? '<cols><col min="1" max="1" width="18" customWidth="1"/></cols>' : ''}<sheetData>`

export const sheetEnd = (drawing: boolean): string =>
  `</sheetData>${drawing ? '<drawing r:id="rId1"/>' : ''}</worksheet>`

export function headingRow(texts: readonly string[]): string {
  return `<row r="1">${texts.map((text, index) => textCell(text, cellName(index, 1), heading)).join('')}</row>`
}

/** Rows with pictures are higher. */
export function valueRow(
  cells: readonly (CellValue | undefined)[],
  number: number,
  before: number,
  high: boolean,
): string {
  let text = `<row r="${number}"${high ? ' ht="72" customHeight="1"' : ''}>`
  for (const [index, value] of cells.entries()) {
    if (value !== undefined) text += valueCell(value, cellName(index + before, number))
  }
  return `${text}</row>`
}

function valueCell(value: CellValue, name: string): string {
  if (typeof value === 'boolean') return `<c r="${name}" t="b"><v>${value ? 1 : 0}</v></c>`
  if (typeof value === 'number' && isHeld(value)) return `<c r="${name}"><v>${value}</v></c>`
  return textCell(String(value), name, textStyle)
}

/** Spreadsheet programs keep fifteen digits of a number. */
const isHeld = (value: number): boolean => Number(value.toPrecision(15)) === value

/** A text cell, whatever its first character. */
function textCell(text: string, name: string, style: number): string {
  const kept = text.length > longestText ? `${text.slice(0, longestText - 1).toWellFormed()}…` : text
  const escaped = kept.replace(/_(?=x[0-9A-Fa-f]{4}_)/g, '_x005F_')
  return `<c r="${name}" t="inlineStr" s="${style}"><is><t xml:space="preserve">${xmlText(escaped)}</t></is></c>`
}

/** `A1`, `AB7`. */
export function cellName(column: number, row: number): string {
  let letters = ''
  for (let left = column + 1; left > 0; left = Math.floor((left - 1) / 26)) {
    letters = String.fromCharCode(65 + ((left - 1) % 26)) + letters
  }
  return `${letters}${row}`
}
