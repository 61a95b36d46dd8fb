/**
 * The object types of the Tate collection, in the wire form of `POST /schema/user/HEAD`. Ids are left to the service,
 * so that the types can be added to an installation that has others already; references go by name.
 */

type Names = readonly [de: string, en: string]

interface ColumnEntry {
  kind: 'column' | 'link'
  name?: string
  type?: string
  name_localized: Record<string, string>
  [property: string]: unknown
}

export interface TableEntry {
  name: string
  columns: ColumnEntry[]
  foreign_keys: object[]
  unique_keys: object[]
  opposite?: string
  [property: string]: unknown
}

const localized = ([de, en]: Names): Record<string, string> => ({ 'de-DE': de, 'en-US': en })

function column(name: string, type: string, names: Names, more: object = {}): ColumnEntry {
  return { kind: 'column', name, type, name_localized: localized(names), ...more }
}

interface LinkEntry {
  column: ColumnEntry
  target: string
  onDelete: 'restrict' | 'cascade'
}

function link(
  name: string,
  target: string,
  names: Names,
  more: object = {},
  onDelete: LinkEntry['onDelete'] = 'restrict',
) {
  return { column: column(name, 'link', names, more), target, onDelete }
}

/** The place of a nested table in its owner. */
function nested(table: string, names: Names): ColumnEntry {
  return { kind: 'link', other_table_name_hint: table, name_localized: localized(names) }
}

interface TableOptions {
  unique?: string[]
  owner?: string
  /** The nested table whose rows are the opposite of these; both have one link. */
  opposite?: string
  flags?: object
}

function table(name: string, entries: readonly (ColumnEntry | LinkEntry)[], options: TableOptions = {}): TableEntry {
  const links = entries.filter((entry): entry is LinkEntry => 'target' in entry)
  return {
    name,
    ...options.flags,
    ...(options.owner ? { owned_by: { other_table_name_hint: options.owner } } : {}),
    columns: entries.map((entry) => ('target' in entry ? (entry as LinkEntry).column : (entry as ColumnEntry))),
    foreign_keys: links.map(({ column: { name: column_name_hint }, target, onDelete }) => ({
      on_delete: onDelete,
      on_update: 'cascade',
      columns: [{ column_name_hint }],
      referenced_table: { name_hint: target },
    })),
    unique_keys: (options.unique ?? []).map((column_name_hint) => ({ columns: [{ column_name_hint }] })),
    ...(options.opposite ? { opposite: options.opposite } : {}),
  }
}

const oneline = 'text_oneline'
const required = { not_null: true }

export const tateTables: readonly TableEntry[] = [
  table(
    'artwork',
    [
      column('title', 'text_l10n_oneline', ['Titel', 'Title'], required),
      column('foreign_title', oneline, ['Originaltitel', 'Original title']),
      column('group_title', oneline, ['Werkgruppe', 'Group']),
      nested('artwork__contributor', ['Beteiligte', 'Contributors']),
      column('date', 'daterange', ['Datierung', 'Date']),
      column('date_text', oneline, ['Datierung (Text)', 'Date as written']),
      column('classification', oneline, ['Gattung', 'Classification']),
      column('medium', 'text', ['Material und Technik', 'Medium']),
      column('width', 'integer.2', ['Breite (mm)', 'Width (mm)'], { check_range_lower: 0 }),
      column('height', 'integer.2', ['Höhe (mm)', 'Height (mm)'], { check_range_lower: 0 }),
      column('depth', 'integer.2', ['Tiefe (mm)', 'Depth (mm)'], { check_range_lower: 0 }),
      column('dimensions', oneline, ['Maße (Text)', 'Dimensions as written']),
      column('inscription', oneline, ['Beschriftung', 'Inscription']),
      nested('artwork__subject', ['Themen', 'Subjects']),
      nested('artwork__movement', ['Kunstrichtungen', 'Movements']),
      column('accession_number', 'string', ['Inventarnummer', 'Accession number'], required),
      column('acquisition_year', 'number', ['Erwerbungsjahr', 'Acquisition year'], { check_range_lower: 1000 }),
      column('credit_line', 'text', ['Erwerbungsvermerk', 'Credit line']),
      column('artist_rooms', 'boolean', ['Artist Rooms', 'Artist Rooms']),
      column('finberg_number', 'string', ['Finberg-Nummer', 'Finberg number']),
      column('url', 'string', ['Webseite', 'Web page']),
      column('image_url', 'string', ['Abbildung', 'Image']),
      column('image_copyright', 'text', ['Bildrechte', 'Image copyright']),
      column('tate_id', 'number', ['Tate-Nummer', 'Tate id'], required),
      column('image', 'eas', ['Bilder', 'Pictures']),
    ],
    {
      unique: ['accession_number', 'tate_id'],
      flags: { pool_link: true, acl_table: true, has_tags: true, in_main_search: true },
    },
  ),
  table(
    'artwork__contributor',
    [
      link('artist', 'artist', ['Künstlerin oder Künstler', 'Artist']),
      column('name', oneline, ['Name (ohne Normdatensatz)', 'Name (no artist record)']),
      column('role', oneline, ['Rolle', 'Role']),
      column('position', 'number', ['Reihenfolge', 'Order']),
    ],
    { owner: 'artwork' },
  ),
  table('artwork__subject', [link('subject', 'subject', ['Thema', 'Subject'])], { owner: 'artwork' }),
  table('artwork__movement', [link('movement', 'movement', ['Kunstrichtung', 'Movement'])], { owner: 'artwork' }),
  table(
    'artist',
    [
      column('name', oneline, ['Name', 'Name'], required),
      column('display_name', oneline, ['Anzeigename', 'Display name']),
      column('life_dates', oneline, ['Lebensdaten (Text)', 'Life dates']),
      column('birth_date', 'date', ['Geburtsjahr', 'Born']),
      column('birth_place', oneline, ['Geburtsort', 'Place of birth']),
      column('death_date', 'date', ['Todesjahr', 'Died']),
      column('death_place', oneline, ['Sterbeort', 'Place of death']),
      column('gender', oneline, ['Geschlecht', 'Gender']),
      nested('artist__place', ['Wirkungsorte', 'Places of activity']),
      nested('artist__movement', ['Kunstrichtungen', 'Movements']),
      nested('artist__influenced_by', ['Beeinflusst von', 'Influenced by']),
      nested('artist__influence_on', ['Einfluss auf', 'Influence on']),
      column('url', 'string', ['Webseite', 'Web page']),
      column('tate_id', 'number', ['Tate-Nummer', 'Tate id'], required),
      // Four artists have two records with the same Tate id.
      column('source_record', 'string', ['Quelldatensatz', 'Source record'], required),
    ],
    { unique: ['source_record'], flags: { has_tags: true, in_main_search: true } },
  ),
  table('artist__place', [column('place', oneline, ['Ort', 'Place'])], { owner: 'artist' }),
  table('artist__movement', [link('movement', 'movement', ['Kunstrichtung', 'Movement'])], { owner: 'artist' }),
  // Influences are recorded on both sides: the service keeps a row here and its opposite there consistent.
  table('artist__influenced_by', [link('artist', 'artist', ['Künstlerin oder Künstler', 'Artist'])], {
    owner: 'artist',
    opposite: 'artist__influence_on',
  }),
  table('artist__influence_on', [link('artist', 'artist', ['Künstlerin oder Künstler', 'Artist'])], {
    owner: 'artist',
  }),
  table(
    'subject',
    [
      column('name', 'text_l10n_oneline', ['Bezeichnung', 'Term'], required),
      column('tate_id', 'number', ['Tate-Nummer', 'Tate id'], required),
    ],
    { unique: ['tate_id'], flags: { polyhierarchical: true } },
  ),
  table(
    'movement',
    [
      column('name', 'text_l10n_oneline', ['Bezeichnung', 'Name'], required),
      column('tate_id', 'number', ['Tate-Nummer', 'Tate id'], required),
    ],
    { unique: ['tate_id'], flags: { is_hierarchical: true } },
  ),
  table(
    'loan',
    [
      column('loan_number', 'string', ['Leihvorgang', 'Loan number'], required),
      link('artwork', 'artwork', ['Kunstwerk', 'Artwork'], { reverse_edit: true, not_null: true }, 'cascade'),
      column('borrower', oneline, ['Leihnehmer', 'Borrower']),
      column('exhibition', 'text_l10n_oneline', ['Ausstellung', 'Exhibition']),
      column('period', 'daterange', ['Zeitraum', 'Period']),
      column('insurance_value', 'integer.2', ['Versicherungswert (GBP)', 'Insurance value (GBP)']),
      column('note', 'text', ['Bemerkung', 'Note']),
    ],
    { unique: ['loan_number'] },
  ),
]

/** Names of the object types for `POST /l10n/user/HEAD`; names of columns travel with the columns. */
export const tateTableNames: Readonly<Record<string, Record<string, string>>> = Object.fromEntries(
  Object.entries({
    artwork: ['Kunstwerk', 'Artwork'],
    artist: ['Künstler*in', 'Artist'],
    subject: ['Thema', 'Subject'],
    movement: ['Kunstrichtung', 'Movement'],
    loan: ['Leihgabe', 'Loan'],
  } as Record<string, Names>).map(([name, names]) => [`schema.${name}.name`, localized(names)]),
)
