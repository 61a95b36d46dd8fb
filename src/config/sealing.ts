import type { Db, Tx } from '../platform/postgres/db.ts'
import { LockedSecret, type SealedTexts } from '../platform/secrets/sealed-texts.ts'
import { isRecord } from '../platform/values/records.ts'
import { isSectionName, sections } from './catalogue.ts'
import type { Field } from './fields/field.ts'
import { lockRows, readRows, type StoredSections, writeSections } from './store.ts'

/**
 * The stored sections with their secrets opened. The catalogue tells which members have secrets. Secrets that no key can open stay
 * locked.
 */
export async function opened(texts: SealedTexts, stored: StoredSections): Promise<StoredSections> {
  return mapSections(stored, (value, about) => texts.open(value, about))
}

/** The sections as they are stored: each text with a secret is sealed. */
export async function sealed(texts: SealedTexts, shown: StoredSections): Promise<StoredSections> {
  return mapSections(shown, async (value, about, { hide }) => {
    if (value instanceof LockedSecret) return texts.seal(value, about, value.shown)
    const hidden = typeof value === 'string' ? hide?.(value) : null
    return typeof value === 'string' && hidden != null ? texts.seal(value, about, hidden) : value
  })
}

/**
 * Seals secrets with the current key that are sealed with another one, in one transaction. Returns the number of secrets that no
 * key can open.
 */
export function resealConfig(db: Db, texts: SealedTexts): Promise<number> {
  return db.transaction(async (tx: Tx) => {
    const stored = await lockRows(tx)
    const due = new Set<string>()
    let locked = 0
    const open = await mapSections(stored, async (value, about, { hide }, section) => {
      const text = await texts.open(value, about)
      if (text instanceof LockedSecret) locked++
      else if (typeof text === 'string' && hide?.(text) != null && !(await texts.isPresent(value))) due.add(section)
      return text
    })
    const renewed = new Map([...open].filter(([section]) => due.has(section)))
    if (renewed.size > 0) await writeSections(tx, await sealed(texts, renewed), null)
    return locked
  })
}

type MapSecret = (value: unknown, about: string, field: Field<unknown>, section: string) => Promise<unknown>

async function mapSections(stored: StoredSections, map: MapSecret): Promise<StoredSections> {
  const entries = [...stored].map(async ([name, value]): Promise<[string, Record<string, unknown>]> => {
    if (!isSectionName(name)) return [name, value]
    const mapped = await mapSecrets(sections[name].field, value, `base configuration ${name}`, (...args) =>
      map(...args, name),
    )
    return [name, mapped as Record<string, unknown>]
  })
  return new Map(await Promise.all(entries))
}

/** Sealed texts in tables are not bound to their row: rows are sorted and renamed. */
async function mapSecrets(
  field: Field<unknown>,
  value: unknown,
  about: string,
  map: (value: unknown, about: string, field: Field<unknown>) => Promise<unknown>,
): Promise<unknown> {
  if (field.hide) return map(value, about, field)
  if (field.row && Array.isArray(value)) {
    const { row } = field
    return Promise.all(value.map((item) => mapSecrets(row, item, about, map)))
  }
  if (!field.members || !isRecord(value)) return value
  const { members } = field
  const entries = Object.entries(value).map(async ([name, inner]): Promise<[string, unknown]> => {
    const member = Object.hasOwn(members, name) ? members[name] : undefined
    return [name, member ? await mapSecrets(member, inner, `${about}/${name}`, map) : inner]
  })
  return Object.fromEntries(await Promise.all(entries))
}

/** The sections with their secrets. */
export async function readSections(from: Parameters<typeof readRows>[0], texts: SealedTexts): Promise<StoredSections> {
  return opened(texts, await readRows(from))
}
