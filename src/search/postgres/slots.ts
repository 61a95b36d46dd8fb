/**
 * Places of facets and sort keys in the arrays of a search document. A place is assigned once and never changes: documents written
 * under an older datamodel keep their meaning until they are indexed again.
 */
import type { Model, Table } from '../../datamodel/model.ts'
import { outsideDeadlines } from '../../platform/limits/deadline.ts'
import type { Db, Queryable } from '../../platform/postgres/db.ts'
import { fieldsOf, type SearchField } from '../plan/fields.ts'

/** Places that all object types share come first. */
export const systemFacets = { _tags: 1, _pool: 2, _owner: 3 } as const
const firstOwnFacet = 9
const firstOwnKey = 17

export interface Slots {
  /** Place of the facet of a column; places count from 1. */
  facet(field: SearchField): number | undefined
  /** Place of the sort key of a column, for localized ones in a language. */
  sortKey(field: SearchField, language?: string): KeySlot | undefined
  /** Place of the key by the digits of a text (document/digits.ts), for localized ones in a language. */
  digitKey(field: SearchField, language?: string): KeySlot | undefined
  /** Place of the rectangles of geometries. */
  geoKey(field: SearchField): KeySlot | undefined
  /** Place of the first target of a link column, among the sort keys. */
  linked(field: SearchField): KeySlot | undefined
  /** Place of the sort key of `_standard`. */
  standardKey(language: string): KeySlot | undefined
}

/** Positive: in `sort_keys`, which is stored with the document; negative: in `far_keys`, which may be stored out of line. */
export type KeySlot = number

/** A sort key as SQL. */
export function keySql(place: KeySlot, alias: string): string {
  return place > 0 ? `${alias}.sort_keys[${place}]` : `${alias}.far_keys[${-place}]`
}

/** Held while places are assigned. */
const slotLock = 7_310_040

/** `f`acet, `s`ort key stored with the document, or sort key that is used `l`ess often. */
type SlotKind = 'f' | 's' | 'l'

interface SlotRow {
  /** 0 for places that all object types share. */
  objecttype: number
  kind: SlotKind
  field: string
  slot: number
}

const standardName = (language: string): string => `_standard@${language}`

/** Name of a sort key: links and localized texts have one per language. */
function keyName(field: SearchField, language?: string): string {
  return language === undefined ? field.code : `${field.code}@${language}`
}

/** Numbers, dates and booleans of objects themselves are short: their keys are stored with the document, for ranges and orders. */
function keyKind({ listed, kind, path, part }: SearchField): 's' | 'l' {
  const isShort = ['number', 'date', 'boolean'].includes(kind) && path.length === 0 && part === null
  return listed || isShort ? 's' : 'l'
}

const digitName = (field: SearchField, language?: string): string => `${keyName(field, language)}#`

/** Whether the column's texts can be sorted by their digits, if a search asks for it. */
export const hasDigitKeys = ({ kind, part }: SearchField): boolean =>
  ['text', 'string', 'l10n'].includes(kind) && part?.sorted !== false

const geoName = (field: SearchField): string => `${field.code}*`

const linkedName = (field: SearchField): string => `${field.code}>`

export const isLocalized = (field: SearchField): boolean => field.kind === 'l10n' || field.kind === 'link'

/** Reads the places, and assigns new ones to fields that have none yet. */
async function loadSlots(db: Db, model: Model, languages: readonly string[]): Promise<Slots> {
  const all = wanted(model, languages)
  let known = await readSlots(db)
  if (all.some((row) => !known.has(idOf(row)))) {
    await db.transaction(async (tx) => {
      await tx.query('select pg_advisory_xact_lock($1)', [slotLock])
      known = await readSlots(tx)
      await addSlots(
        tx,
        all.filter((row) => !known.has(idOf(row))),
      )
      known = await readSlots(tx)
    })
  }
  return compileSlots(model, languages, (objecttype, kind, field) => known.get(idOf({ objecttype, kind, field })))
}

export interface SlotCache {
  /** The places of a model and the database languages. */
  of(model: Model, languages: readonly string[]): Promise<Slots>
  forget(): void
}

/** Caches the places of the current model and languages. */
export function createSlotCache(db: Db): SlotCache {
  let known: { readonly model: Model; readonly languages: string; readonly slots: Promise<Slots> } | null = null
  return {
    of(model, languages) {
      const key = languages.join()
      if (known?.model === model && known.languages === key) return known.slots
      const slots = outsideDeadlines(() => loadSlots(db, model, languages))
      const own = { model, languages: key, slots }
      known = own
      slots.catch(() => {
        if (known === own) known = null
      })
      return slots
    },
    forget() {
      known = null
    },
  }
}

type FindSlot = (objecttype: number, kind: SlotKind, field: string) => number | undefined

/** Resolves all places once, because indexing needs them for every value. */
function compileSlots(model: Model, languages: readonly string[], find: FindSlot): Slots {
  const facets = new Map<SearchField, number | undefined>()
  const keys = new Map<SearchField, KeySlot | undefined>()
  const linked = new Map<SearchField, KeySlot | undefined>()
  const geometries = new Map<SearchField, KeySlot | undefined>()
  const localizedKeys = new Map<SearchField, ReadonlyMap<string, KeySlot | undefined>>()
  const digits = new Map<SearchField, ReadonlyMap<string | undefined, KeySlot | undefined>>()
  const findDigits = (table: Table, field: SearchField, language?: string): KeySlot | undefined => {
    const slot = find(table.id, 'l', digitName(field, language))
    return slot === undefined ? undefined : -slot
  }
  const findKey = (table: Table, field: SearchField, language?: string): KeySlot | undefined => {
    const kind = keyKind(field)
    const slot = find(table.id, kind, keyName(field, language))
    return slot === undefined || kind === 's' ? slot : -slot
  }
  for (const { table, all } of fieldsOf(model).types.values()) {
    for (const field of all) {
      facets.set(field, find(table.id, 'f', field.code))
      keys.set(field, findKey(table, field))
      const place = field.kind === 'geo' ? find(table.id, 'l', geoName(field)) : undefined
      if (place !== undefined) geometries.set(field, -place)
      const first = field.kind === 'link' ? find(table.id, 'l', linkedName(field)) : undefined
      if (first !== undefined) linked.set(field, -first)
      if (hasDigitKeys(field)) {
        const own = isLocalized(field) ? languages : [undefined]
        digits.set(field, new Map(own.map((language) => [language, findDigits(table, field, language)])))
      }
      if (!isLocalized(field)) continue
      const places = languages.map((language) => [language, findKey(table, field, language)] as const)
      localizedKeys.set(field, new Map(places))
    }
  }
  return {
    facet: (field) => facets.get(field),
    sortKey: (field, language) => (language === undefined ? keys.get(field) : localizedKeys.get(field)?.get(language)),
    digitKey: (field, language) => digits.get(field)?.get(language),
    geoKey: (field) => geometries.get(field),
    linked: (field) => linked.get(field),
    standardKey: (language) => find(0, 's', standardName(language)),
  }
}

const idOf = ({ objecttype, kind, field }: Omit<SlotRow, 'slot'>): string => `${objecttype} ${kind} ${field}`

/** Adds each new place after the last one of its object type and kind; the caller holds the lock. */
async function addSlots(tx: Queryable, rows: readonly Omit<SlotRow, 'slot'>[]): Promise<void> {
  if (rows.length === 0) return
  await tx.query(
    `insert into search_slot (objecttype, kind, field, slot)
     select w.objecttype, w.kind, w.field,
       greatest(w.first - 1, (select max(slot) from search_slot s where s.objecttype = w.objecttype and s.kind = w.kind))
         + row_number() over (partition by w.objecttype, w.kind order by w.place)
     from unnest($1::int[], $2::"char"[], $3::text[], $4::int[]) with ordinality as w(objecttype, kind, field, first, place)`,
    [
      rows.map((row) => row.objecttype),
      rows.map((row) => row.kind),
      rows.map((row) => row.field),
      rows.map((row) =>
        row.objecttype === 0 || row.kind === 'l' ? 1 : row.kind === 'f' ? firstOwnFacet : firstOwnKey,
      ),
    ],
  )
}

async function readSlots(db: Queryable): Promise<Map<string, number>> {
  const { rows } = await db.query<SlotRow>('select objecttype, kind, field, slot from search_slot', [], 'search-slots')
  return new Map(rows.map((row) => [idOf(row), row.slot]))
}

function wanted(model: Model, languages: readonly string[]): Omit<SlotRow, 'slot'>[] {
  const rows: Omit<SlotRow, 'slot'>[] = []
  // Languages can only use the places before `firstOwnKey`.
  for (const language of languages.slice(0, firstOwnKey - 1)) {
    rows.push({ objecttype: 0, kind: 's', field: standardName(language) })
  }
  for (const { table, all } of fieldsOf(model).types.values()) {
    for (const field of all) {
      if (field.facet) rows.push({ objecttype: table.id, kind: 'f', field: field.code })
      if (field.kind === 'geo') rows.push({ objecttype: table.id, kind: 'l', field: geoName(field) })
      if (['custom', 'geo', 'files'].includes(field.kind) || field.part?.sorted === false) continue
      if (field.kind === 'link') rows.push({ objecttype: table.id, kind: 'l', field: linkedName(field) })
      for (const language of isLocalized(field) ? languages : [undefined]) {
        rows.push({ objecttype: table.id, kind: keyKind(field), field: keyName(field, language) })
        if (hasDigitKeys(field)) rows.push({ objecttype: table.id, kind: 'l', field: digitName(field, language) })
      }
    }
  }
  return rows
}
