import { noDeadline } from '../../platform/limits/deadline.ts'
import { assertKnown, searchOf, searchParams } from '../params.ts'
import { runOverObjects, type Searching } from './batches.ts'
import type { TaskModule } from './model.ts'

const known = [...searchParams]

/** Counts the results of a search: a recurring report. */
export function searchModule(search: Searching): TaskModule {
  return {
    name: 'search',
    displayname: { 'de-DE': 'Suche', 'en-US': 'Search' },
    description: {
      'de-DE': 'Zählt die Datensätze, die eine Suche findet, und meldet ihre Zahl.',
      'en-US': 'Counts the objects that a search finds, and tells how many they are.',
    },
    params: [
      { name: 'search', type: 'json' },
      { name: 'incremental', type: 'bool', default: false },
    ],
    async check(actor, params) {
      assertKnown(params, known)
      await search.check(actor, searchOf(params).whole)
    },
    preview: async () => null,
    async work(run) {
      const found = searchOf(run.task.params)
      if (!found.incremental) {
        const count = await search.count(await run.actor(), found.request, noDeadline)
        await run.note({ total: count, done: count })
        return { done: `${count} objects found.` }
      }
      const whole = await runOverObjects(search, run, found, async () => ({ failed: 0 }))
      return whole ? { done: `${run.state.done ?? 0} objects found that have changed.` } : 'later'
    },
  }
}
