/**
 * The masks of the Tate collection in the wire form of `POST /mask/HEAD`: for each object type the standard one for editing, for
 * artworks and artists also a short one for lists and a read-only one for the public.
 */

interface Show {
  /** Slot of `_standard`, and the text before the next part. */
  standard?: 1 | 2 | 3
  format?: 'comma' | 'space' | 'colon' | 'newline' | 'round-parentheses'
  facet?: boolean
  fulltext?: boolean
  /** Shown in tables of results. */
  table?: boolean
}

interface Field {
  kind: string
  [property: string]: unknown
}

export interface MaskEntry {
  name: string
  table_name_hint: string
  name_localized: Record<string, string>
  fields: Field[]
  [property: string]: unknown
}

function shown({ standard, format = 'comma', facet = false, fulltext = true, table = false }: Show): object {
  return {
    edit: { mode: 'edit' },
    output: { detail: true, text: true, table, ...(standard ? { standard: { order: standard, format } } : {}) },
    search: { expert: true, fulltext, facet, nested: false },
  }
}

function field(column_name_hint: string, show: Show = {}): Field {
  return { kind: 'field', column_name_hint, ...shown(show) }
}

function link(column_name_hint: string, show: Show = {}): Field {
  return { kind: 'link', column_name_hint, mask_id: 'PREFERRED', inline: 'standard', ...shown(show) }
}

function nested(table: string, fields: Field[], show: Show = {}, more: object = {}): Field {
  return { kind: 'linked-table', other_table_name_hint: table, ...shown(show), ...more, mask: { fields } }
}

/** The same field, but read-only; the rows of tables likewise. */
function readOnly(source: Field): Field {
  const { mask, ...rest } = source as Field & { mask?: { fields: Field[] } }
  return { ...rest, edit: { mode: 'show' }, ...(mask ? { mask: { ...mask, fields: mask.fields.map(readOnly) } } : {}) }
}

const identifier: Show = { fulltext: false }

const contributors = nested(
  'artwork__contributor',
  [
    link('artist', { standard: 2, facet: true, table: true }),
    field('name', { standard: 2 }),
    field('role', { facet: true }),
    field('position', { fulltext: false }),
  ],
  { standard: 2, table: true },
  { nested_sort: [{ field: 'position', order: 'asc' }], nested_standard_first_only: true },
)

const loans: Field = {
  kind: 'reverse-linked-table',
  other_table_name_hint: 'loan',
  other_column_name_hint: 'artwork',
  ...shown({ fulltext: false }),
  mask: {
    fields: [
      field('loan_number', { standard: 1 }),
      field('borrower', { standard: 1 }),
      field('exhibition'),
      field('period'),
      field('insurance_value', { fulltext: false }),
      field('note'),
    ],
  },
}

const artworkFields: Field[] = [
  field('title', { standard: 1, table: true }),
  field('foreign_title'),
  field('group_title', { facet: true }),
  contributors,
  field('date', { standard: 3, table: true, facet: true }),
  field('date_text', { table: true }),
  field('classification', { facet: true, table: true }),
  field('medium'),
  field('width', { fulltext: false }),
  field('height', { fulltext: false }),
  field('depth', { fulltext: false }),
  field('dimensions', { fulltext: false }),
  field('inscription'),
  nested('artwork__subject', [link('subject', { facet: true })]),
  nested('artwork__movement', [link('movement', { facet: true })]),
  field('accession_number', { standard: 3, table: true }),
  field('acquisition_year', { facet: true, fulltext: false }),
  field('credit_line'),
  field('artist_rooms', { facet: true, fulltext: false }),
  field('finberg_number'),
  field('url', identifier),
  field('image_url', identifier),
  field('image_copyright', { fulltext: false }),
  field('tate_id', identifier),
  {
    ...field('image', identifier),
    output: { detail: true, text: true, table: true, standard_eas: { order: 1 } },
  },
]

const artistFields: Field[] = [
  field('name', { standard: 1, table: true }),
  field('display_name', { table: true }),
  field('life_dates', { standard: 2, table: true }),
  field('birth_date', { fulltext: false }),
  field('birth_place', { facet: true }),
  field('death_date', { fulltext: false }),
  field('death_place'),
  field('gender', { facet: true, fulltext: false }),
  nested('artist__place', [field('place', { facet: true })]),
  nested('artist__movement', [link('movement', { facet: true })]),
  nested('artist__influenced_by', [link('artist')], { fulltext: false }),
  nested('artist__influence_on', [link('artist')], { fulltext: false }),
  field('url', identifier),
  field('tate_id', identifier),
  field('source_record', identifier),
]

const term: Field[] = [field('name', { standard: 1, table: true }), field('tate_id', identifier)]

const loanFields: Field[] = [
  field('loan_number', { standard: 1, table: true }),
  link('artwork', { standard: 2, table: true }),
  field('borrower', { standard: 1, facet: true, table: true }),
  field('exhibition', { table: true }),
  field('period', { table: true }),
  field('insurance_value', { fulltext: false }),
  field('note'),
]

function only(fields: readonly Field[], names: readonly string[]): Field[] {
  const nameOf = (entry: Field): string => String(entry.column_name_hint ?? entry.other_table_name_hint)
  return fields.filter((entry) => names.includes(nameOf(entry)))
}

function without(fields: readonly Field[], names: readonly string[]): Field[] {
  const dropped = new Set(only(fields, names))
  return fields.filter((entry) => !dropped.has(entry))
}

type Names = readonly [de: string, en: string]

function mask(table: string, suffix: string, [de, en]: Names, fields: Field[], more: object = {}): MaskEntry {
  return {
    name: suffix === '' ? table : `${table}_${suffix}`,
    table_name_hint: table,
    is_preferred: suffix === '',
    name_localized: { 'de-DE': de, 'en-US': en },
    fields,
    ...more,
  }
}

const hidden = { output: { mode: 'off' }, edit: { mode: 'off' } }
const shownOnly = { output: { mode: 'show' }, edit: { mode: 'show' } }
const forPublic = {
  hide_in_editor: true,
  system_fields: {
    parent: shownOnly,
    object_id: shownOnly,
    tags: hidden,
    acl: hidden,
    owner: hidden,
    pool: shownOnly,
    collections: hidden,
    publish: shownOnly,
  },
}

const everything: Names = ['Alle Angaben', 'All details']
const short: Names = ['Kurz', 'Short']
const open: Names = ['Öffentlich', 'Public']

export const tateMasks: readonly MaskEntry[] = [
  mask('artwork', '', everything, [...artworkFields, loans]),
  mask(
    'artwork',
    'short',
    short,
    only(artworkFields, ['title', 'artwork__contributor', 'date', 'accession_number', 'tate_id']),
  ),
  mask(
    'artwork',
    'public',
    open,
    without(artworkFields, ['artist_rooms', 'finberg_number', 'tate_id']).map(readOnly),
    forPublic,
  ),
  mask('artist', '', everything, artistFields),
  mask('artist', 'short', short, only(artistFields, ['name', 'life_dates', 'tate_id', 'source_record'])),
  mask(
    'artist',
    'public',
    open,
    without(artistFields, ['gender', 'tate_id', 'source_record']).map(readOnly),
    forPublic,
  ),
  mask('subject', '', everything, term),
  mask('movement', '', everything, term),
  mask('loan', '', everything, loanFields),
]
