import { Type } from 'typebox'

const any = Type.Optional(Type.Unknown())
const Tags = Type.Optional(Type.Object({ all: any, any, not: any, changed: any }))

/**
 * What a transition may name in the lists of object types and pools, for the report on what was ignored. The shape itself
 * belongs to a later capability (src/transitions/schema.ts), which also checks it; a test holds the two together.
 */
export const TransitionNames = Type.Object({
  _id: any,
  _version: any,
  type: any,
  trigger: any,
  operations: any,
  event_types: any,
  displayname: any,
  comment: any,
  confirm: any,
  sticky: any,
  who: any,
  who_not: any,
  objecttype_ids: any,
  'tagfilter:before': Tags,
  'tagfilter:after': Tags,
  actions: Type.Optional(Type.Array(Type.Object({ type: any, info: any }))),
})

/** A tag as it is shown in such a list: sent back, only its `_id`, `enabled` and `is_default` count. */
export const ShownTag = Type.Object(
  {
    _id: any,
    _version: any,
    displayname: any,
    description: any,
    frontend_prefs: any,
    enabled: any,
    is_default: any,
    sticky: any,
    type: any,
    displaytype: any,
    reference: any,
    shortname: any,
    _origin: any,
  },
  { additionalProperties: true, title: 'ShownTag' },
)
