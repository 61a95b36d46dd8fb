import { posix } from 'node:path'
import { limits, SheetError } from '../../limits.ts'
import { isDateFormat } from './numbers.ts'
import type { Parts } from './parts.ts'
import { readAllXml } from './xml.ts'

export interface Workbook {
  /** Names of its visible sheets, with the paths of their parts. */
  readonly sheets: readonly { readonly name: string; readonly path: string }[]
  readonly from1904: boolean
  readonly strings: readonly string[]
  /** Whether cells of the format are dates. */
  isDate(style: number): boolean
}

export async function readWorkbook(parts: Parts): Promise<Workbook> {
  const { path, folder } = await workbookPart(parts)
  const targets = await relations(parts, `${folder}/_rels/${posix.basename(path)}.rels`)
  const sheets: { name: string; path: string }[] = []
  let from1904 = false
  await readAllXml(parts.text(path), {
    open(name, attributes) {
      if (name === 'workbookPr') from1904 = isTrue(attributes.date1904)
      if (name !== 'sheet' || (attributes.state ?? 'visible') !== 'visible') return
      const target = targets.get(attributes['r:id'] ?? relationId(attributes))
      if (target) push(sheets, { name: attributes.name ?? '', path: inFolder(folder, target) })
    },
    close() {},
    text() {},
  })
  const dates = await dateStyles(parts, `${folder}/styles.xml`)
  const strings = await sharedStrings(parts, `${folder}/sharedStrings.xml`)
  return { sheets, from1904, strings, isDate: (style) => dates[style] ?? false }
}

/** The relations of the package name the part of the workbook; nearly always it is this one. */
async function workbookPart(parts: Parts): Promise<{ path: string; folder: string }> {
  if (parts.has('xl/workbook.xml')) return { path: 'xl/workbook.xml', folder: 'xl' }
  if (!parts.has('_rels/.rels')) throw new SheetError('it is no XLSX file')
  for (const target of (await relations(parts, '_rels/.rels')).values()) {
    const path = inFolder('', target)
    const name = posix.basename(path).toLowerCase()
    if (name.includes('workbook') && name.endsWith('.xml')) return { path, folder: posix.dirname(path) }
  }
  throw new SheetError('it is no XLSX file')
}

async function relations(parts: Parts, path: string): Promise<Map<string, string>> {
  const targets = new Map<string, string>()
  await readAllXml(parts.text(path), {
    open(name, { Id, Target }) {
      if (name === 'Relationship' && Id && Target && targets.size < limits.styles) targets.set(Id, Target)
    },
    close() {},
    text() {},
  })
  return targets
}

/** Targets are relative to the folder of the part, or with a slash to the root of the package. */
function inFolder(folder: string, target: string): string {
  return target.startsWith('/') ? target.slice(1) : posix.join(folder, target)
}

function relationId(attributes: Readonly<Record<string, string>>): string {
  return Object.entries(attributes).find(([name]) => name.endsWith(':id'))?.[1] ?? ''
}

const isTrue = (text: string | undefined): boolean => text === '1' || text === 'true'

/** For each format of cells, by its number, whether it shows dates. */
async function dateStyles(parts: Parts, path: string): Promise<boolean[]> {
  if (!parts.has(path)) return []
  const codes = new Map<number, string>()
  const styles: boolean[] = []
  let inCells = false
  await readAllXml(parts.text(path), {
    open(name, attributes) {
      if (name === 'numFmt' && codes.size < limits.styles) {
        codes.set(Number(attributes.numFmtId), attributes.formatCode ?? '')
      } else if (name === 'cellXfs') inCells = true
      else if (name === 'xf' && inCells) {
        const id = Number(attributes.numFmtId ?? 0)
        push(styles, isDateFormat(id, codes.get(id)))
      }
    },
    close(name) {
      if (name === 'cellXfs') inCells = false
    },
    text() {},
  })
  return styles
}

/** The texts that cells refer to by their numbers. */
async function sharedStrings(parts: Parts, path: string): Promise<string[]> {
  if (!parts.has(path)) return []
  const strings: string[] = []
  const text = createTextReader(() => {})
  let characters = 0
  await readAllXml(parts.text(path), {
    open: text.open,
    close(name) {
      text.close(name)
      if (name !== 'si') return
      const string = text.take()
      characters += string.length
      if (characters > limits.sharedText || strings.length >= limits.sharedStrings) {
        throw new SheetError('its texts are too many to be kept in memory: save the sheet as CSV')
      }
      strings.push(string)
    },
    text: text.text,
  })
  return strings
}

/**
 * Joins the texts of `t` elements, formatted in pieces or not. Phonetic hints (`rPh`) are left out. `onText` gets the length of the
 * gathered text.
 */
export function createTextReader(onText: (length: number) => void) {
  let gathered: string[] = []
  let [length, inText, pronounced] = [0, false, false]
  return {
    open(name: string): void {
      if (name === 't') inText = !pronounced
      else if (name === 'rPh') pronounced = true
    },
    close(name: string): void {
      if (name === 't') inText = false
      else if (name === 'rPh') pronounced = false
    },
    text(text: string): void {
      if (!inText) return
      length += text.length
      if (length > limits.cell) throw new SheetError(`a cell has more than ${limits.cell} characters`)
      onText(length)
      gathered.push(text)
    },
    take(): string {
      // The escapes of the file format for characters that XML does not allow: `_x000D_` is a line break.
      const whole = gathered
        .join('')
        .replaceAll(/_x([0-9A-F]{4})_/g, (_, code) => String.fromCharCode(Number(`0x${code}`)))
      gathered = []
      length = 0
      return whole
    },
  }
}

function push<T>(list: T[], entry: T): void {
  if (list.length >= limits.styles) throw new SheetError('it has more formats or sheets than any spreadsheet needs')
  list.push(entry)
}
