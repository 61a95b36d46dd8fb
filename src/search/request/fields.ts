/** `fields` of a request: values of hits that are returned beside them. */
import type { LinkStep } from '../plan/field-paths.ts'
import type { SearchField } from '../plan/fields.ts'
import type { ElementContext } from './clauses.ts'
import { type Named, notAllowed } from './names.ts'
import { resolvePath } from './paths.ts'
import { choice, type Fields, fieldsAt, languageAt, listAt, optional, wrong } from './read.ts'

/** The requested part of an object: one of its identifiers, its type, or the title that others show it by. */
export type ObjectPart = 'id' | 'globalId' | 'uuid' | 'objecttype' | 'ownId' | 'title'

export interface FieldRequest {
  /** The name in the answer. */
  readonly key: string
  /** The links to the objects with the values; empty: the hit itself. */
  readonly steps: readonly LinkStep[]
  /** null: a part of the object itself. */
  readonly field: SearchField | null
  /** Part of the hit, or of the target of a link; null: the stored value. */
  readonly part: ObjectPart | null
  /** For `ownId`: the type of the objects. */
  readonly objecttype: number | null
  /** Whether the answer has the whole path of objects from the top of the hierarchy down to this one. */
  readonly withPath: boolean
  /** For dates: one end of the interval; null: as it is stored. */
  readonly end: 'from' | 'to' | null
  /** null: the first language that has a text. */
  readonly language: string | null
}

const mostFields = 100

export function fieldRequests(list: unknown, context: ElementContext): readonly FieldRequest[] {
  const requests = listAt(list ?? [], 'fields', mostFields).map((entry, index) =>
    fieldRequest(fieldsAt(entry, `fields[${index}]`), `fields[${index}]`, context),
  )
  const keys = new Set<string>()
  for (const [index, { key }] of requests.entries()) {
    if (keys.has(key)) throw wrong(`fields[${index}].key`, 'a key that no other one has')
    keys.add(key)
  }
  return requests
}

function fieldRequest(entry: Fields, place: string, { fields }: ElementContext): FieldRequest {
  const name = optional(entry, 'field', 'string', place) ?? ''
  const key = optional(entry, 'key', 'string', place) || name
  if (key.length > 1000) throw wrong(`${place}.key`, 'a key of at most 1000 characters')
  const { steps, named } = resolvePath(fields, name)
  const mode = optional(entry, 'mode', 'string', place)
  const isDate = named.kind === 'field' && named.field.kind === 'date'
  if (mode && !isDate) throw wrong(`${place}.mode`, 'absent where the field is no date')
  const ends = mode ? choice(mode, ['from', 'to', 'from_to'], `${place}.mode`) : 'from_to'
  const end = ends === 'from_to' ? (named.kind === 'field' ? named.part : null) : ends
  const withPath = optional(entry, 'with_path', 'boolean', place) ?? false
  const what = whatIsNamed(named, name)
  if (withPath && what.part === 'uuid') throw notAllowed(name, 'fields with_path')
  return {
    key,
    steps,
    ...what,
    withPath,
    end,
    language: languageAt(entry, place) ?? ('language' in named ? named.language : null),
  }
}

const ofHit = {
  _system_object_id: 'id',
  _global_object_id: 'globalId',
  _uuid: 'uuid',
  _objecttype: 'objecttype',
  _standard: 'title',
} as const satisfies Record<string, ObjectPart>

function whatIsNamed(named: Named, name: string): Pick<FieldRequest, 'field' | 'part' | 'objecttype'> {
  if (named.kind === 'system') {
    const part = Object.hasOwn(ofHit, named.name) ? ofHit[named.name as keyof typeof ofHit] : undefined
    if (part === undefined) throw notAllowed(name, 'fields')
    return { field: null, part, objecttype: null }
  }
  if (named.kind === 'id') return { field: null, part: 'ownId', objecttype: named.objecttype }
  if (named.kind === 'targetId') return { field: named.field, part: 'ownId', objecttype: null }
  if (named.kind === 'parent' || named.kind === 'period' || named.field.part || named.field.kind === 'files')
    throw notAllowed(name, 'fields')
  const { field } = named
  return { field, part: field.kind === 'link' ? partOfLink(name) : null, objecttype: null }
}

function partOfLink(name: string): ObjectPart {
  if (/\._standard(?:\.|$)/.test(name)) return 'title'
  return name.endsWith('._global_object_id') ? 'globalId' : 'id'
}
