import type { SeedRequest } from './seeds.ts'
import { narrowMask, type World } from './world.ts'

/**
 * The request, turned to the work whose title the caller with limited masks can see, in the mask that they may use: sent
 * unchanged, most requests would be refused before a fault could show.
 */
export function narrowed(seed: SeedRequest, { objects, ids, pools }: World): SeedRequest {
  const numbers = new Map([
    [objects.bridge, objects.half],
    [objects.dawn, objects.half],
    [ids.bridge, ids.half],
    [ids.dawn, ids.half],
    [pools.open, pools.half],
  ])
  return turned(seed, numbers, narrowMask)
}

/** The request, turned to the things that only root can see otherwise: those on which the callers with one right have it. */
export function aimed(
  seed: SeedRequest,
  { objects, ids, pools, users, groups, tags, pictures, objecttypes }: World,
): SeedRequest {
  const numbers = new Map([
    [objects.bridge, objects.vault],
    [objects.dawn, objects.vault],
    [ids.bridge, ids.vault],
    [ids.dawn, ids.vault],
    [pools.open, pools.closed],
    [users.limited, users.hidden],
    [groups.staff, groups.hidden],
    [tags.draft, tags.done],
    [pictures.bridge.id, pictures.hidden.id],
    [objecttypes.topic, objecttypes.person],
  ])
  return turned(seed, numbers, 'work__standard')
}

function turned(
  seed: SeedRequest,
  numbers: ReadonlyMap<number | undefined, number | undefined>,
  mask: string,
): SeedRequest {
  const turn = (value: unknown, key: string): unknown => {
    if (Array.isArray(value)) return value.map((one) => turn(one, key))
    if (typeof value === 'object' && value !== null) {
      return Object.fromEntries(Object.entries(value).map(([name, one]) => [name, turn(one, name)]))
    }
    if (value === '_all_fields' || value === 'work__standard') return mask
    const isId = typeof value === 'number' ? /id$|^in$/.test(key) : /^id$/i.test(key)
    if (!isId) return value
    const [, number = '', rest = ''] = /^(\d+)(@.*)?$/.exec(String(value)) ?? []
    const other = numbers.get(Number(number))
    if (other === undefined) return value
    return typeof value === 'number' ? other : `${other}${rest}`
  }
  return { ...seed, ...(turn({ path: seed.path, query: seed.query, body: seed.body }, '') as SeedRequest) }
}
