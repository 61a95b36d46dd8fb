import type { Actor } from '../../src/platform/actor.ts'
import { createSnapshot, type TagGroup } from '../../src/tags/model.ts'
import { type PlanObject, type PlanRequest, planTransitions } from '../../src/transitions/engine.ts'
import type { Transition } from '../../src/transitions/model.ts'

/** A choice group with the tags 1 draft, 2 review, 3 published, and free tags 4 to 6. */
const tag = (id: number, groupId: number, groupType: TagGroup['type']) => ({
  id,
  version: 1,
  groupId,
  groupType,
  displayname: {},
  description: {},
  frontendPrefs: {},
  enabled: true,
  isDefault: false,
  sticky: false,
  type: 'individual' as const,
  displaytype: 'facet' as const,
  reference: null,
  shortname: null,
  acl: [],
})
const group = (id: number, type: TagGroup['type'], ids: number[]): TagGroup => ({
  id,
  version: 1,
  displayname: {},
  reference: null,
  shortname: null,
  type,
  tags: ids.map((each) => tag(each, id, type)),
})
export const tagSnapshot = createSnapshot([group(1, 'choice', [1, 2, 3]), group(2, 'checkbox', [4, 5, 6])])

export const actor: Actor = {
  userId: 10,
  login: 'alice',
  displayname: 'Alice',
  reference: null,
  groupIds: [1, 20],
  isRoot: false,
  systemRights: new Map(),
  remoteAddr: '',
  languages: ['en-US'],
  session: null,
}

let nextId = 1

/** A transition that fires on every insert and update and does nothing, but for what is said. */
export function transition(settings: Partial<Transition> = {}): Transition {
  return {
    id: nextId++,
    version: 1,
    setBy: 1,
    type: 'process',
    trigger: 'automatic',
    operations: ['INSERT', 'UPDATE'],
    eventTypes: [],
    displayname: {},
    comment: '',
    confirm: {},
    sticky: false,
    who: [],
    whoNot: false,
    objecttypeIds: [],
    before: null,
    after: null,
    actions: [],
    ...settings,
  }
}

export const setTags = (...ids: number[]): Transition['actions'][number] => ({
  type: 'set_tags',
  tags: ids.map((id) => ({ id: Math.abs(id), set: id > 0 })),
})

export const tags = (filter: Partial<NonNullable<Transition['before']>>): Transition['before'] => ({
  all: [],
  any: [],
  not: [],
  changed: [],
  ...filter,
})

export function object(settings: Partial<PlanObject> = {}): PlanObject {
  return {
    key: 0,
    operation: 'UPDATE',
    objecttypeId: 1,
    poolId: 1,
    tagsBefore: [],
    tagsAfter: [],
    owner: 'u10',
    systemObjectId: 100,
    version: 1,
    ...settings,
  }
}

/** Plans a save of one object, or of several. */
export function plan(
  list: readonly Transition[],
  objects: readonly PlanObject[] | PlanObject = object(),
  more: Partial<PlanRequest> = {},
) {
  return planTransitions({
    actor,
    trigger: { kind: 'save' },
    objects: [objects].flat(),
    applicable: () => list,
    tags: tagSnapshot,
    ...more,
  })
}
