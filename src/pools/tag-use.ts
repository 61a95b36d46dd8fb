import type { Bus } from '../platform/postgres/bus.ts'
import type { Tx } from '../platform/postgres/db.ts'
import { poolTopic } from './snapshot.ts'
import { countGrantTags, countPoolTags, removePoolTags } from './store.ts'

/** Tags that pools set may be taken out with the tag; a grant that asks for a tag would widen, so it keeps the tag. */
export function poolTagUses(bus: Pick<Bus, 'publish'>) {
  return [
    {
      context: 'pool_tag',
      count: countPoolTags,
      async remove(tx: Tx, tagIds: readonly number[]): Promise<void> {
        await removePoolTags(tx, tagIds)
        await bus.publish(tx, poolTopic)
      },
    },
    { context: 'pool_right', count: countGrantTags },
  ]
}
