/** Binary sort keys of values: bytes in the order of the values. */
import type { Localized } from '../../../platform/values/localized.ts'
import { collation } from '../../document/collation.ts'
import { digitKey } from '../../document/digits.ts'
import { intervalOf } from '../../document/values.ts'
import type { SearchField } from '../../plan/fields.ts'
import type { KeySlot } from '../slots.ts'
import type { Draft } from './draft.ts'

/** Sets the key of a column; for nested tables, by the first row with a value. */
export function setSortKey(draft: Draft, field: SearchField, value: unknown): void {
  const { context } = draft
  if (field.kind === 'l10n') setTexts(draft, field, value as Localized)
  else if (field.kind === 'link') {
    const place = freePlace(draft, context.slots.linked(field))
    // The title of the first link counts, even if it has none in this language.
    if (!place) return
    place.keys[place.at] = idKey(value as number)
    const target = context.target(value as number)
    if (target) setTexts(draft, field, target.texts)
  } else {
    const place = freePlace(draft, context.slots.sortKey(field))
    const language = context.languages[0] ?? 'und'
    if (!place) return
    place.keys[place.at] = keyOf(field, value, language)
    if (field.kind === 'text' || field.kind === 'string') setDigits(draft, field, value as string, language)
  }
}

function idKey(id: number): Buffer {
  const key = Buffer.alloc(8)
  key.writeBigInt64BE(BigInt(id))
  return key
}

/**
 * One key for each language that has a text. Where the text is the same as in the first language, the key of that language is used.
 */
function setTexts(draft: Draft, field: SearchField, texts: Localized): void {
  const { context } = draft
  let first: string | undefined
  for (const language of context.languages) {
    const text = texts[language]
    if (text === undefined || text === first) continue
    first ??= text
    const place = freePlace(draft, context.slots.sortKey(field, language))
    if (!place) continue
    place.keys[place.at] = collation(language).key(text, { numeric: true })
    setDigits(draft, field, text, language, language)
  }
}

/** `own`: the language of the key, if the field has one for each language. */
function setDigits(draft: Draft, field: SearchField, text: string, language: string, own?: string): void {
  const place = freePlace(draft, draft.context.slots.digitKey(field, own))
  const key = place && digitKey(text, language)
  if (key) place.keys[place.at] = key
}

/** The place of a key; null when it is taken already, or when there is none. */
function freePlace(
  { sortKeys, farKeys }: Draft,
  place: KeySlot | undefined,
): { keys: (Buffer | undefined)[]; at: number } | null {
  if (place === undefined) return null
  const keys = place > 0 ? sortKeys : farKeys
  const at = Math.abs(place)
  return keys[at] ? null : { keys, at }
}

function keyOf(field: SearchField, value: unknown, language: string): Buffer | undefined {
  switch (field.kind) {
    case 'text':
    case 'string':
      return collation(language).key(value as string, { numeric: true })
    case 'number':
      return numberKey(value as number)
    case 'boolean':
      return Buffer.of(value ? 1 : 0)
    case 'date':
      return dateKey(value)
    default:
      return undefined
  }
}

/** The bits of a double, changed so that their order is the order of the numbers. */
export function numberKey(value: number): Buffer {
  const key = Buffer.alloc(8)
  key.writeDoubleBE(value === 0 ? 0 : value)
  if ((key[0] as number) & 0x80) for (let i = 0; i < 8; i++) key[i] = ~(key[i] as number)
  else key[0] = (key[0] as number) | 0x80
  return key
}

const lowest = -(2n ** 63n)
const highest = 2n ** 63n - 1n

/** Seconds since 1970 as eight bytes of a key. */
export const datePart = (seconds: bigint): bigint => seconds - lowest

/** First moment, then last one: of two dates with the same beginning, the shorter one comes first. */
function dateKey(value: unknown): Buffer | undefined {
  const interval = intervalOf(value)
  if (!interval) return undefined
  const key = Buffer.alloc(16)
  key.writeBigUInt64BE(datePart(interval.from ?? lowest), 0)
  key.writeBigUInt64BE(datePart(interval.to ?? highest), 8)
  return key
}
