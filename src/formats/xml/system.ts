/** System fields of an object as elements, with names that begin with an underscore. */

import { type ObjectTree, records, type Wire } from '../../objects/service.ts'
import { isRecord } from '../../platform/values/records.ts'
import { element, languageElements, localizedElement, plainElement, textElement } from './markup.ts'

/** Plain members of the object, and of its block, in the order of the elements. */
const members = ['_objecttype', '_mask', '_system_object_id', '_global_object_id', '_uuid'] as const
const blockMembers = ['_id', '_version', '_id_parent'] as const
const dates = ['_created', '_last_modified', '_latest_version', '_latest_version_deleted_at'] as const

export function systemElements({ wire, table }: ObjectTree): string {
  const block = wire[table.name]
  return [
    standardElements(wire._standard),
    plainElements(wire, members),
    isRecord(block) ? plainElements(block, blockMembers) : '',
    plainElements(wire, dates),
    personElement('_owner', wire._owner),
    personElement('_create_user', wire._create_user),
    poolElement(wire._pool),
    tagsElement(wire._tags),
    plainElements(wire, ['_comment', '_not_allowed', '_purged_or_deferred']),
    plainElement('_parent_child_idx', wire._child_idx),
  ].join('')
}

function plainElements(wire: Wire, names: readonly string[]): string {
  return names.map((name) => plainElement(name, wire[name])).join('')
}

/** `_standard`, `_standard-2`, `_standard-3`. */
function standardElements(standard: unknown): string {
  if (!isRecord(standard)) return ''
  return ['1', '2', '3']
    .map((slot) => {
      const { text } = (standard[slot] ?? {}) as { readonly text?: Readonly<Record<string, string>> }
      return text ? localizedElement(slot === '1' ? '_standard' : `_standard-${slot}`, text) : ''
    })
    .join('')
}

function personElement(name: string, who: unknown): string {
  if (!isRecord(who)) return ''
  const kind = String(who._basetype)
  const person = who[kind]
  if (!isRecord(person)) return ''
  return textElement(name, String(person._generated_displayname ?? ''), { type: kind, id: Number(person._id) })
}

function poolElement(wire: unknown): string {
  const pool = isRecord(wire) ? wire.pool : null
  if (!isRecord(pool)) return ''
  const name = isRecord(pool.name) ? element('name', languageElements(pool.name as Record<string, string>)) : ''
  const shortname = isRecord(pool.shortname)
    ? element('shortname', languageElements(pool.shortname as Record<string, string>))
    : ''
  return element('_pool', `${name}${shortname}`, { id: Number(pool._id), reference: textOrNone(pool.reference) })
}

function tagsElement(tags: unknown): string {
  if (!Array.isArray(tags)) return ''
  return element(
    '_tags',
    records(tags)
      .map((tag) => {
        const name = isRecord(tag.displayname) ? languageElements(tag.displayname as Record<string, string>) : ''
        return element('tag', name, { id: Number(tag._id), reference: textOrNone(tag.reference) })
      })
      .join(''),
  )
}

const textOrNone = (value: unknown): string | undefined => (typeof value === 'string' ? value : undefined)
