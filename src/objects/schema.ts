import { Type } from 'typebox'
import { Flag } from '../platform/query.ts'
import { deletePolicies } from './delete.ts'
import { formatNames } from './formats.ts'

/** Most objects in one request. */
export const maxBatch = 10_000

export const ObjecttypePath = Type.Object({ objecttype: Type.String({ minLength: 1, maxLength: 200 }) })

/** Shaped by the datamodel, so checked against the mask, not here. */
export const ObjectBody = Type.Array(Type.Unknown(), { maxItems: maxBatch })

export const DbObject = Type.Object({}, { additionalProperties: true, $id: 'DbObject' })

const Format = Type.Union(formatNames.map((format) => Type.Literal(format)))

const Wait = Type.Integer({ minimum: 0, maximum: 3600, description: 'Most seconds to wait until indexed; 0: no wait.' })

export const SaveQuery = Type.Object({
  format: Type.Optional(Format),
  dry_run: Type.Optional(Flag),
  collection: Type.Optional(Type.Integer({ minimum: 1, maximum: Number.MAX_SAFE_INTEGER })),
  collection_policy: Type.Optional(Type.Union([Type.Literal('setinvalid'), Type.Literal('remove')])),
  file_url_expire: Type.Optional(Type.Integer({ minimum: 1, maximum: 36_500 })),
  skip_reverse_nested: Type.Optional(Flag),
  skip_bidirectional_update: Type.Optional(Flag),
  skip_index: Type.Optional(Flag),
  await_index: Type.Optional(Wait),
  skip_constraints: Type.Optional(Flag),
  skip_plugins: Type.Optional(Flag),
  skip_events: Type.Optional(Flag),
  confirmTransition: Type.Optional(Type.String({ maxLength: 4096 })),
  revoke: Type.Optional(Type.String({ pattern: '^yes(:.{0,4096})?$' })),
  reverse_pool_changed_mode: Type.Optional(
    Type.Union([Type.Literal('reverse_pool_changed_always'), Type.Literal('reverse_pool_changed_never')]),
  ),
})

export const DeleteQuery = Type.Object({
  dry_run: Type.Optional(Flag),
  delete_policy: Type.Optional(Type.Union(deletePolicies.map((policy) => Type.Literal(policy)))),
  confirmTransition: Type.Optional(Type.String({ maxLength: 4096 })),
  await_index: Type.Optional(Wait),
})

export const DeleteAnswer = Type.Object({
  policy: Type.String(),
  removed: Type.Array(Type.Integer()),
  setnull: Type.Array(Type.Integer()),
  create_collection: Type.Integer(),
})
