import { type Draft, type ProposalContext, separatorOf } from './draft.ts'
import { freeName, identifierOf, singular } from './names.ts'

/** Maximum length of a value of a list: longer ones are texts. */
const longestTerm = 200
/** With fewer cells, repetition is no evidence. */
const fewest = 8

const never = /^(?:title|titel|name|description|beschreibung|bemerkung|note|notiz|comment|kommentar|dimensions|masse)/

/**
 * A text that repeats, or that has several values in a cell, becomes a link to objects of a separate type: each value is written
 * once, can be corrected in one place, and is a facet.
 */
export function proposeList(draft: Draft, context: ProposalContext, taken: Set<string>): void {
  const { statistics, mapping } = draft
  const { heading, column, type } = mapping
  if (mapping.ignore || !column || type !== 'text_oneline' || never.test(column)) return
  // Dates as free text repeat, too.
  if (statistics.fits.date > statistics.filled / 2) return
  const separator = separatorOf(statistics)
  const several = separator === null ? undefined : statistics.several[separator]
  const single = { cells: 0, parts: statistics.filled, distinct: statistics.distinct, longest: statistics.longest }
  const { parts, distinct, longest, cells } = several ?? single
  if (distinct === null || longest > longestTerm || parts < fewest) return
  const repeated = distinct <= parts * (several ? 0.9 : 0.5)
  if (!repeated) return
  const target = listType(identifierOf(heading), context)
  if (separator === null) {
    draft.mapping = { heading, column, type: 'link', list: { type: target, column: 'name' } }
    draft.reason = `a list: ${distinct} values in ${parts} cells`
    return
  }
  // The nested table gets the name instead of a column.
  taken.delete(column)
  const table = freeName(`${context.type}__${singular(identifierOf(heading))}`, taken)
  draft.mapping = {
    heading,
    column: table,
    type: 'link',
    separator,
    list: { type: target, column: 'name', link: target.slice(0, 63) },
  }
  draft.reason = `a list with several values in ${cells} cells, between them "${separator}": ${distinct} values`
}

/** `artists` creates the type `artist`; if another type has that name, `work_artist`. */
function listType(name: string, { type, listFits }: ProposalContext): string {
  const short = singular(name)
  for (const candidate of [short, `${type}_${short}`.slice(0, 60)]) {
    if (candidate !== type && listFits(candidate, 'name')) return candidate
  }
  for (let number = 2; ; number++) {
    const candidate = [`${type}_${short}`.slice(0, 56), number].join('_')
    if (listFits(candidate, 'name')) return candidate
  }
}
