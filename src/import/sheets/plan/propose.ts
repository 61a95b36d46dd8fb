import { basename } from 'node:path'
import { namesFile } from '../values/text.ts'
import { type Draft, type ProposalContext, separatorOf } from './draft.ts'
import { chooseKey } from './key.ts'
import { proposeLanguages } from './languages.ts'
import { proposeList } from './lists.ts'
import type { CellType, ColumnMapping, Mapping } from './mapping.ts'
import { freeName, identifierOf } from './names.ts'
import type { Proposal } from './proposal.ts'
import type { ColumnStatistics, Kind, SheetStatistics } from './statistics.ts'

/**
 * The share of cells that may fail to match the type of all others. Rows that do not match are refused, so a column with more
 * mismatches stays a text.
 */
const fewMisfits = 0.02

const titles = /^(?:title|titel|name|bezeichnung|label|objekttitel|object_name|betreff|headline|titre)/

/** A datamodel for the sheet, derived from the values of its columns. */
export function propose({ rows, columns }: SheetStatistics, context: ProposalContext): Proposal {
  const taken = new Set<string>()
  const drafts: Draft[] = columns.map((statistics) => draft(statistics, context, taken))
  const key = chooseKey(drafts, rows)
  proposeLanguages(drafts, context.languages, key)
  proposeParent(drafts, key)
  for (const each of drafts) if (each !== key) proposeList(each, context, taken)
  proposeStandard(drafts, key)
  const file = { name: basename(context.file), ...context.format }
  const mapping: Mapping = {
    mapping: 1,
    file,
    type: context.type,
    key: key?.mapping.column
      ? { column: key.mapping.column }
      : { column: freeName('source_row', taken), rows_of: basename(context.file) },
    language: context.languages[0] ?? 'en-US',
    empty: 'keep',
    columns: drafts.map((each) => each.mapping),
  }
  return { mapping, reasons: new Map(drafts.map(({ mapping: { heading }, reason }) => [heading, reason])) }
}

function draft(statistics: ColumnStatistics, context: ProposalContext, taken: Set<string>): Draft {
  const { heading } = statistics
  if (heading === '') return { statistics, mapping: { heading, ignore: true }, reason: 'has no heading' }
  const column = freeName(identifierOf(heading), taken)
  if (statistics.filled === 0) {
    return { statistics, mapping: { heading, column, type: 'text_oneline', ignore: true }, reason: 'is empty' }
  }
  const { reason, ...decided } = decide(statistics, context)
  return { statistics, mapping: { heading, column, ...decided }, reason }
}

type Decision = { type: CellType; reason: string } & Partial<ColumnMapping>

function decide(statistics: ColumnStatistics, context: ProposalContext): Decision {
  return (
    decideBoolean(statistics) ??
    decideNumber(statistics) ??
    decideDate(statistics) ??
    decideFile(statistics, context) ??
    decideText(statistics)
  )
}

function fitting({ filled, fits }: ColumnStatistics, kind: Kind): boolean {
  const misfits = filled - fits[kind]
  return fits[kind] > misfits && misfits <= Math.max(1, filled * fewMisfits)
}

/** The note on cells that do not match the type. */
function withMisfits({ filled, fits, misfits }: ColumnStatistics, kind: Kind, reason: string): string {
  const missing = filled - fits[kind]
  if (missing === 0) return reason
  const examples = misfits[kind].map(({ row, value }) => `row ${row} ${JSON.stringify(value)}`).join(', ')
  return `${reason}; ${missing} ${missing === 1 ? 'cell does' : 'cells do'} not fit: ${examples}`
}

function decideBoolean(statistics: ColumnStatistics): Decision | null {
  const { filled, fits, distinct } = statistics
  if (fits.boolean < filled || fits.number === filled || distinct === null || distinct > 2) return null
  return { type: 'boolean', reason: `yes or no in ${filled} cells` }
}

const yearHeading =
  /(?:^|_)(?:year|jahr|date|datum|dat|datierung|dated|jahre|annee|entstehung(?:szeit)?|created|year_.*)(?:$|_)/

function decideNumber(statistics: ColumnStatistics): Decision | null {
  const { codes, decimals, decimalSign, largest, heading } = statistics
  if (!fitting(statistics, 'number')) return null
  if (codes) return { type: 'string', reason: 'numbers with zeros in front, or too long: kept as written' }
  if (fitting(statistics, 'date') && yearHeading.test(identifierOf(heading))) return null
  const written = decimalSign === ',' ? { decimal: decimalSign } : {}
  if (decimals === 0) {
    return { type: 'number', ...written, reason: withMisfits(statistics, 'number', 'whole numbers') }
  }
  const exact = decimals <= 2 && largest < 2 ** 53 / 100
  const reason = withMisfits(statistics, 'number', `numbers with up to ${decimals} decimals after "${decimalSign}"`)
  return { type: exact ? 'integer.2' : 'double', ...written, reason }
}

function decideDate(statistics: ColumnStatistics): Decision | null {
  const { dates, filled } = statistics
  if (!fitting(statistics, 'date')) return null
  if (dates.none === filled) return null
  const order = dates.order === 'mdy' ? { order: dates.order } : {}
  if (dates.ranges > 0) {
    const reason = withMisfits(statistics, 'date', `dates, ${dates.ranges} of them a range or about`)
    return { type: 'daterange', ...order, reason }
  }
  const type = dates.times > 0 ? 'datetime' : 'date'
  return { type, ...order, reason: withMisfits(statistics, 'date', dates.times > 0 ? 'dates with time' : 'dates') }
}

function decideFile(statistics: ColumnStatistics, { fileExists }: ProposalContext): Decision | null {
  const separator = separatorOf(statistics)
  const several = separator === null ? {} : { separator }
  if (fitting(statistics, 'address')) {
    if (!statistics.examples.every(namesFile)) return { type: 'string', reason: 'addresses' }
    const reason = withMisfits(statistics, 'address', 'addresses of files, which the service fetches')
    return { type: 'file', ...several, reason }
  }
  if (!fitting(statistics, 'file')) return null
  const named = statistics.examples.flatMap((text) => (separator === null ? [text] : text.split(separator)))
  const there = named.filter((text) => fileExists(text.trim())).length
  if (there === 0) return { type: 'string', reason: 'names of files, of which the first are not there' }
  return { type: 'file', ...several, reason: withMisfits(statistics, 'file', 'files below the folder of the sheet') }
}

function decideText(statistics: ColumnStatistics): Decision {
  const { longest, lines, heading, several } = statistics
  // A long cell may consist of several short values.
  const part = several[separatorOf(statistics) ?? '']?.longest ?? longest
  if (lines || part > 250) {
    return { type: 'text', reason: lines ? 'texts of several lines' : `texts of up to ${longest} characters` }
  }
  if (/(?:^|_)(?:id|uuid|guid|isbn|issn|signatur|code|nr|no|nummer|number)$/.test(identifierOf(heading))) {
    return { type: 'string', reason: 'a code: found as a whole, never split into words' }
  }
  return { type: 'text_oneline', reason: `texts of up to ${longest} characters` }
}

/** `parent_id` and the like contain the key of the object above. */
function proposeParent(drafts: readonly Draft[], key: Draft | null): void {
  const parent = /^(?:parent(?:_.*)?|broader(?:_.*)?|uebergeordnet.*|oberbegriff.*|gehoert_zu)$/
  const found = drafts.find((each) => each !== key && !each.mapping.ignore && parent.test(each.mapping.column ?? ''))
  if (!key || !found || found.statistics.distinct === found.statistics.filled) return
  found.mapping = { heading: found.mapping.heading, type: 'parent' }
  found.reason = `the object above, by its ${key.mapping.heading}`
}

/** The fields for the title of an object: its title, its creator or date, its number. */
function proposeStandard(drafts: readonly Draft[], key: Draft | null): void {
  const shown = drafts.filter(({ mapping }) => mapping.ignore !== true)
  const isText = ({ mapping: { type } }: Draft): boolean => type?.startsWith('text') ?? false
  const title =
    shown.find((each) => isText(each) && titles.test(each.mapping.column ?? '')) ??
    shown.find((each) => isText(each) && each !== key) ??
    key
  if (title) {
    // The languages of the title are one column.
    for (const each of shown) if (each.mapping.column === title.mapping.column) each.mapping.standard = 1
  }
  const second = shown.find(({ mapping }) => mapping.type === 'link')
  if (second) second.mapping.standard = 2
  if (key && key !== title && key.mapping.ignore !== true) key.mapping.standard = 3
}
