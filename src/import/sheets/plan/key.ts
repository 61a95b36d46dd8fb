import type { Draft } from './draft.ts'
import { identifierOf } from './names.ts'

/** Headings of columns that identify the object; the most likely targets of references first. */
const keyNames = [
  /^(?:id|uuid|guid|key|identifier|kennung|schluessel)$/,
  /^(?:inv|inventory|inventar|accession|acno|acc|objekt|object|signatur|katalog|catalogue)/,
  /(?:_id|_uuid|_nr|_no|_number|nummer)$/,
]

/** The column that identifies a row: no value twice, none empty. Null when there is none. */
export function chooseKey(drafts: readonly Draft[], rows: number): Draft | null {
  const possible = drafts.filter(({ statistics, mapping }) => {
    const fits =
      mapping.type === 'number'
        ? statistics.fits.number === statistics.filled
        : ['string', 'text_oneline'].includes(mapping.type ?? '')
    return (
      mapping.ignore !== true && fits && statistics.unique === true && !statistics.lines && statistics.longest <= 100
    )
  })
  const named = keyNames.flatMap((pattern) =>
    possible.filter(({ statistics: { heading } }) => pattern.test(identifierOf(heading))),
  )
  const [first] = drafts
  // A first column of single words, each once, is a key whatever its heading is; titles have several words.
  const plain = first && possible.includes(first) && !first.statistics.words && rows > 1 ? first : null
  const key = named[0] ?? plain
  if (!key) return null
  if (key.mapping.type === 'text_oneline') key.mapping.type = 'string'
  key.reason = `the key: every row has one, and no two the same${key.mapping.type === 'number' ? '; whole numbers' : ''}`
  return key
}
