/** The block of an object as JSON, without a wire object between: most objects of most pages come this way. */
import type { ColumnField, Mask, ReverseField } from '../../datamodel/model.ts'
import type { Wire } from '../masks/reader.ts'
import { textReaderOf } from '../masks/text-reader.ts'
import type { Head, Loaded } from '../read/stored-rows.ts'
import { isProvisional } from '../save/write/provisional-ids.ts'
import { shortBytes } from './parts.ts'
import type { Place } from './place.ts'
import { type Run, reverseKey } from './run.ts'
import { linkedMask } from './shown-mask.ts'
import { hiddenObject, isHierarchical, plainShortText } from './system-fields.ts'

/**
 * The block with its fields; null: something in it is not known yet, or is not as stored. `wire` has the system fields
 * already. For objects that were asked for themselves, with what stands around them known ahead.
 */
export function blockText(run: Run, object: Loaded, mask: Mask, place: Place, wire: Wire): string | null {
  if (!isPlain(run, place) || isHierarchical(object)) return null
  if (isProvisional(object.systemObjectId) || isProvisional(object.id)) return null
  let links = 0
  const fields = textReaderOf(mask)(object.content, {
    link: (id, field) => {
      links++
      run.parts.spend(shortBytes)
      return linkText(run, id, field)
    },
    reverse: (field) => emptyReverse(run, object, field),
  })
  if (fields === null) {
    // They are spent again.
    run.parts.spend(-links * shortBytes)
    return null
  }
  const pool = wire._pool === undefined ? '' : `,"_pool":${JSON.stringify(wire._pool)}`
  return `{"_id":${object.id},"_version":${object.version}${pool}${fields}}`
}

/** Whether the fields are answered as they are stored, and linked objects by their heads. */
function isPlain({ options }: Run, { format, top, mergeLeft, asOf }: Place): boolean {
  if (!top || !format.fields || format.full || format.inherited || format.linked !== 'short') return false
  return mergeLeft === 0 && asOf === null && options.languages === null && options.keep === null
}

function linkText(run: Run, id: number, { column, linkMask }: ColumnField): string | null {
  if (!column.target) return 'null'
  const known = run.linkTexts.get(id)
  if (known?.linkMask === linkMask) return known.text
  const found = run.loaded.get(id) ?? run.heads.get(id)
  const text = found ? shortTextOf(run, found, linkMask) : null
  if (text !== null) run.linkTexts.set(id, { linkMask, text })
  return text
}

function shortTextOf(run: Run, object: Head | Loaded, linkMask: Mask | null): string | null {
  if (!run.caller.root && !run.caller.may('read', object.guard)) return JSON.stringify(hiddenObject(run, object))
  return object.deletedAt ? null : plainShortText(run, object, linkedMask(run, object, linkMask))
}

/** Nothing stands in a reverse field, as far as that is known. */
function emptyReverse(run: Run, object: Loaded, { column }: ReverseField): string | null {
  if (run.options.skipReverseNested) return ''
  return run.below.get(reverseKey(column?.id ?? null, object.systemObjectId))?.length === 0 ? '[]' : null
}
