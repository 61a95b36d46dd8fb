import { withoutEnd } from '../../platform/values/text.ts'
import type { NumberedArtist } from './artists.ts'
import type { LoanRecord, TateArtwork, TateLifeEvent } from './records.ts'

/** System object ids of the objects created so far, by Tate id. */
export interface KnownIds {
  artists: ReadonlyMap<number, number>
  subjects: ReadonlyMap<number, number>
  movements: ReadonlyMap<number, number>
}

export interface WireObject {
  _objecttype: string
  _mask: string
  [property: string]: unknown
}

/** Text in one language: the collection is published in English. */
const english = (text: string): Record<string, string> => ({ 'en-US': text })

export function artworkObject(record: TateArtwork, known: KnownIds, poolId: number): WireObject {
  const artwork = {
    _pool: { pool: { _id: poolId } },
    tate_id: record.id,
    accession_number: record.acno,
    title: english(oneLine(record.title) ?? record.acno),
    foreign_title: oneLine(record.foreignTitle),
    group_title: oneLine(record.groupTitle),
    classification: oneLine(record.classification),
    medium: lines(record.medium),
    date: dateRange(record.dateRange),
    date_text: oneLine(record.dateText),
    // The records have width and height swapped: museums write the height first, and so do the dimensions as text.
    width: hundredths(record.height),
    height: hundredths(record.width),
    depth: hundredths(record.depth),
    dimensions: oneLine(record.dimensions),
    inscription: oneLine(record.inscription),
    acquisition_year: record.acquisitionYear ?? undefined,
    credit_line: lines(record.creditLine),
    artist_rooms: record.artistRooms,
    finberg_number: oneLine(record.finberg ?? null),
    url: record.url,
    image_url: record.thumbnailUrl ?? undefined,
    image_copyright: lines(record.thumbnailCopyright ?? null),
    '_nested:artwork__contributor': contributors(record, known),
    '_nested:artwork__subject': linkRows('subject', leavesOf(record.subjects), known.subjects),
    '_nested:artwork__movement': linkRows('movement', idsOf(record.movements), known.movements),
  }
  return { _objecttype: 'artwork', _mask: 'artwork', artwork }
}

export function artistObject(record: NumberedArtist, known: Pick<KnownIds, 'movements'>): WireObject {
  const artist = {
    tate_id: record.id,
    source_record: record.sourceRecord,
    name: oneLine(record.mda) ?? String(record.id),
    display_name: oneLine(record.fc),
    life_dates: oneLine(record.date),
    birth_date: year(record.birth),
    birth_place: oneLine(record.birth?.place?.name ?? null),
    death_date: year(record.death),
    death_place: oneLine(record.death?.place?.name ?? null),
    gender: oneLine(record.gender),
    url: record.url,
    '_nested:artist__place': (record.activePlaces ?? []).map(({ name }) => ({ place: oneLine(name) })),
    '_nested:artist__movement': linkRows('movement', idsOf(record.movements), known.movements),
  }
  return { _objecttype: 'artist', _mask: 'artist', artist }
}

/** A subject or movement; parents are given by system object id. */
export function termObject(
  objecttype: 'subject' | 'movement',
  term: { id: number; name: string },
  parents: readonly number[],
): WireObject {
  const place =
    objecttype === 'subject'
      ? { _parents: parents.map((id) => linkTo('subject', id)) }
      : { 'lookup:_id_parent': parents[0] && { _system_object_id: parents[0] } }
  const block = { tate_id: term.id, name: english(oneLine(term.name) ?? String(term.id)), ...place }
  return { _objecttype: objecttype, _mask: objecttype, [objecttype]: block }
}

export function loanObject(record: LoanRecord): WireObject {
  const loan = {
    loan_number: record.loan_number,
    artwork: { _objecttype: 'artwork', artwork: { 'lookup:_id': { accession_number: record.acno } } },
    borrower: oneLine(record.borrower ?? null),
    exhibition: record.exhibition === undefined ? undefined : english(record.exhibition),
    period: record.from || record.to ? { from: record.from, to: record.to } : undefined,
    insurance_value: record.insurance_value === undefined ? undefined : Math.round(record.insurance_value * 100),
    note: lines(record.note ?? null),
  }
  return { _objecttype: 'loan', _mask: 'loan', loan }
}

/** Ids of the most specific subjects; broader subjects are found through the hierarchy. */
export function leavesOf(tree: TateArtwork['subjects']): number[] {
  if (!tree) return []
  const leaves: number[] = []
  const visit = (node: NonNullable<typeof tree>): void => {
    if (!node.children || node.children.length === 0) leaves.push(node.id)
    else node.children.forEach(visit)
  }
  visit(tree)
  return leaves
}

/** An artist without a record is stored by name. */
function contributors(record: TateArtwork, known: KnownIds): object[] {
  const rows = new Map<string, object>()
  for (const { id, mda, role, displayOrder } of record.contributors) {
    const systemObjectId = known.artists.get(id)
    const who = systemObjectId === undefined ? { name: oneLine(mda) } : { artist: linkTo('artist', systemObjectId) }
    rows.set(`${id} ${role}`, { ...who, role: oneLine(role), position: displayOrder })
  }
  return [...rows.values()]
}

function linkRows(objecttype: string, tateIds: Iterable<number>, known: ReadonlyMap<number, number>): object[] {
  const rows: object[] = []
  for (const id of new Set(tateIds)) {
    const systemObjectId = known.get(id)
    if (systemObjectId !== undefined) rows.push({ [objecttype]: linkTo(objecttype, systemObjectId) })
  }
  return rows
}

function linkTo(objecttype: string, systemObjectId: number): object {
  return { _objecttype: objecttype, _system_object_id: systemObjectId }
}

function idsOf(records: readonly { id: number }[] | undefined): number[] {
  return (records ?? []).map(({ id }) => id)
}

function oneLine(text: string | null | undefined): string | undefined {
  return text?.replace(/\s+/g, ' ').trim() || undefined
}

function lines(text: string | null | undefined): string | undefined {
  return (
    text
      ?.replace(/\r\n?/g, '\n')
      .split('\n')
      .map((line) => withoutEnd(line, ' \t'))
      .join('\n')
      .trim() || undefined
  )
}

/** Millimetres in hundredths; additions such as `(upper):` and `each` are kept in the dimensions as text. */
function hundredths(text: string | undefined): number | undefined {
  return text && /^\d+(\.\d+)?$/.test(text) ? Math.round(Number(text) * 100) : undefined
}

/** `no date` and the like give no value; a range that ends before it starts (`1828-9` read as 1819) keeps its start. */
function dateRange(range: TateArtwork['dateRange']): object | undefined {
  if (!range) return undefined
  const from = yearNumber(range.startYear)
  const to = yearNumber(range.endYear)
  if (from === null) return undefined
  const text = oneLine(range.text)
  return {
    from: yearText(from),
    to: yearText(to === null || to < from ? from : to),
    ...(text ? { text: english(text) } : {}),
  }
}

function year(event: TateLifeEvent | undefined): object | undefined {
  const number = yearNumber(event?.time?.startYear)
  return number === null ? undefined : { value: yearText(number) }
}

function yearNumber(value: number | string | null | undefined): number | null {
  return /^\d{1,4}$/.test(String(value ?? '')) ? Number(value) : null
}

function yearText(value: number): string {
  return String(value).padStart(4, '0')
}
