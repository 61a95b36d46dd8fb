import fc from 'fast-check'
import { defineModel, type SeededModel } from '../seed/model.ts'

/** The datamodel of the scenes: what may be hidden in every way that a datamodel has. */

export const words = ['amber', 'birch', 'cedar', 'delta', 'ember', 'fjord', 'birches', 'cobalt'] as const
export const years = ['1801', '1845-06', '1900', '1950-03-12'] as const
export const numbers = [-3, 0, 7, 12, 100] as const

export type TypeName = 'person' | 'place' | 'topic' | 'work' | 'loan'

/** Column types by full path; rows of a nested table are written `<table>.<column>`. `key` is a text of its own each. */
export const columns = {
  person: {
    name: 'text_oneline',
    note: 'text',
    reference: 'key',
    born: 'date',
    'influence.person': 'link:person',
    'influence.note': 'text_oneline',
  },
  place: { name: 'text_l10n_oneline', code: 'string', note: 'text' },
  topic: { name: 'text_oneline', note: 'text', reference: 'key' },
  work: {
    title: 'text_l10n_oneline',
    note: 'text',
    plain: 'text_oneline',
    code: 'string',
    width: 'number',
    price: 'integer.2',
    signed: 'boolean',
    made: 'date',
    period: 'daterange',
    creator: 'link:person',
    place: 'link:place',
    topic: 'link:topic',
    related: 'link:work',
    'part.name': 'text_oneline',
    'part.amount': 'number',
    'part.since': 'date',
    'part.maker': 'link:person',
    'part.origin': 'link:place',
  },
  loan: { borrower: 'text_oneline', fee: 'number', work: 'link:work' },
} as const satisfies Record<TypeName, Record<string, string>>

export const typeNames = ['person', 'place', 'topic', 'work', 'loan'] as const
/** The one nested table of a type; that of persons links in both directions. */
export const nestedOf: Readonly<Partial<Record<TypeName, string>>> = { person: 'influence', work: 'part' }
/** What others show the object by: whoever may read the object knows it. */
export const titles: Record<TypeName, string> = {
  person: 'name',
  place: 'name',
  topic: 'name',
  work: 'title',
  loan: 'borrower',
}
/** A field of works: the loans that are shown below them, with their borrowers or whole. */
export const loansField = 'loan:work'

/** Columns by mask; `standard` has all of them. */
export const masks: Record<TypeName, Record<string, readonly string[]>> = {
  person: { name_only: ['name'], circle: ['name', 'born', 'influence.person', 'influence.note'] },
  place: { name_only: ['name'], noted: ['name', 'note'] },
  topic: { name_only: ['name'] },
  work: {
    public: ['title', 'code', 'creator', 'topic', 'related', 'part.name', 'part.maker', loansField],
    sizes: ['title', 'width', 'price', 'signed', 'made', 'period', 'place', 'part.amount', 'part.since', 'part.origin'],
    notes: ['title', 'note', 'plain', 'code'],
  },
  loan: {},
}
/** A mask that is only for objects with tag 1. */
export const filteredMask = 'notes'

/** How many objects there are of each type; they stand in the order of the types. */
export const sizes: Record<TypeName, number> = { person: 6, place: 6, topic: 5, work: 14, loan: 6 }

/** Things of one kind that links of the scene may lead to, by index; works only to the first half of the works. */
export const targets: Record<TypeName, readonly number[]> = Object.fromEntries(
  typeNames.map((type, at) => {
    const first = typeNames.slice(0, at).reduce((sum, before) => sum + sizes[before], 0)
    return [type, Array.from({ length: type === 'work' ? sizes.work / 2 : sizes[type] }, (_, index) => first + index)]
  }),
) as Record<TypeName, number[]>

export function columnsOf(type: TypeName, nested: boolean): [string, string][] {
  const prefix = `${nestedOf[type]}.`
  return Object.entries<string>(columns[type]).flatMap(([name, kind]): [string, string][] => {
    if (name.includes('.') !== nested) return []
    return [[nested ? name.slice(prefix.length) : name, kind]]
  })
}

/** Columns whose values no twin changes: unique keys are taken or not, links in both directions agree on both sides. */
export const unchanging = (column: string): boolean => column === 'reference' || column === 'influence.person'

const word = fc.constantFrom(...words)

/** Values of columns; `earlier` are the indexes that links may point to. */
export function someValue(type: string, earlier: Readonly<Record<TypeName, readonly number[]>>): fc.Arbitrary<unknown> {
  const text = fc.array(word, { minLength: 1, maxLength: 3 }).map((list) => list.join(' '))
  switch (type) {
    case 'text':
    case 'text_oneline':
      return text
    case 'string':
      return word
    case 'key':
      return fc.nat(999_999).map((n) => `new-${n}`)
    case 'text_l10n_oneline':
      return fc.record({ 'en-US': text, 'de-DE': text }, { requiredKeys: ['en-US'] })
    case 'number':
    case 'integer.2':
      return fc.constantFrom(...numbers)
    case 'boolean':
      return fc.boolean()
    case 'date':
      return fc.constantFrom(...years).map((value) => ({ value }))
    case 'daterange':
      return fc
        .tuple(fc.constantFrom('1700', '1800'), fc.constantFrom('1850', '1901'))
        .map(([from, to]) => ({ from, to }))
    default: {
      const found = earlier[type.slice('link:'.length) as TypeName]
      return found.length === 0 ? fc.constant(undefined) : fc.constantFrom(...found)
    }
  }
}

export function hiddenModel(): SeededModel {
  const own = (type: TypeName) =>
    Object.fromEntries(columnsOf(type, false).map(([name, kind]) => [name, kind === 'key' ? 'string' : kind]))
  const rows = (type: TypeName) => ({ columns: Object.fromEntries(columnsOf(type, true)) })
  const model = defineModel(
    {
      person: {
        columns: own('person'),
        unique: [['reference']],
        nested: { influence: { ...rows('person'), bidirectional: ['person'] } },
        flags: { acl_table: true },
      },
      place: { columns: own('place'), flags: { pool_link: true, is_hierarchical: true } },
      topic: {
        columns: own('topic'),
        unique: [['reference']],
        flags: { polyhierarchical: true },
      },
      work: {
        columns: own('work'),
        nested: { part: rows('work') },
        flags: { pool_link: true, has_tags: true, acl_table: true },
      },
      loan: {
        columns: { ...own('loan'), work: { type: 'link:work', reverse_edit: true, on_delete: 'cascade' } },
        flags: { acl_table: true },
      },
    },
    Object.fromEntries(
      typeNames.flatMap((type) =>
        Object.entries(masks[type]).map(([mask, shown]) => [
          `${type}__${mask}`,
          { table: type, shape: (field: { kind: string }, name: string) => (shows(type, shown, name) ? field : null) },
        ]),
      ),
    ),
  )
  for (const mask of model.masks.masks as unknown as { fields: Field[] }[]) shapeFields(mask.fields, columnIds(model))
  return model
}

function shows(type: TypeName, shown: readonly string[], name: string): boolean {
  const nested = `${type}__${nestedOf[type]}`
  if (name === nested) return shown.some((each) => each.includes('.'))
  if (name === loansField) return shown.includes(loansField)
  if (type === 'work' && name.startsWith('loan.')) return name === 'loan.borrower'
  return shown.includes(name.replace(`${type}__`, '').replace(`${type}.`, ''))
}

interface Field {
  readonly column_id?: number
  search: object
  inheritance?: object
}

const columnIds = ({ schema }: SeededModel) => {
  const tables = schema.tables as unknown as { name: string; columns: { name?: string; column_id?: number }[] }[]
  return (table: string, column: string) =>
    tables.find(({ name }) => name === table)?.columns.find(({ name }) => name === column)?.column_id
}

/** One column is not prepared for facets, so that its stored values are counted; notes are inherited. */
function shapeFields(fields: readonly Field[], id: ReturnType<typeof columnIds>): void {
  const inherited = [id('place', 'note'), id('topic', 'note')]
  for (const field of fields) {
    if (field.column_id === id('work', 'plain')) field.search = { ...field.search, facet: false }
    if (field.column_id && inherited.includes(field.column_id)) field.inheritance = { inherit: true }
  }
}

const { schema, masks: made } = hiddenModel()
type Named = { name: string; table_id: number; mask_id: number }
const idsOf = (list: unknown, type: TypeName) =>
  (list as Named[]).filter(({ name }) => name === type || name.startsWith(`${type}__`))

/** Ids as the model gives them. */
export const tableIds = Object.fromEntries(
  typeNames.map((type) => [type, idsOf(schema.tables, type).find(({ name }) => name === type)?.table_id]),
) as Record<TypeName, number>
export const maskIds = Object.fromEntries(
  typeNames.map((type) => [
    type,
    Object.fromEntries(idsOf(made.masks, type).map(({ name, mask_id }) => [name.slice(type.length + 2), mask_id])),
  ]),
) as Record<TypeName, Record<string, number>>
