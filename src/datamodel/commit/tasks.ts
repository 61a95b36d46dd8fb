import { cancelButton, type Task } from '../../platform/values/tasks.ts'
import type { ConstraintChange } from './hooks.ts'

export const reindexModes = ['skip', 'reindex', 'reindex_block'] as const
export type ReindexMode = (typeof reindexModes)[number]

/** The question about the index (SCHEMA-009). */
export function reindexTask(counts: readonly { readonly name: string; readonly count: number }[]): Task {
  const total = counts.reduce((sum, { count }) => sum + count, 0)
  return {
    title: 'Reindex',
    message: `The changes affect the search index of ${number(total)} objects: ${counts
      .map(({ name, count }) => `${name} (${number(count)})`)
      .join(', ')}.`,
    form: [
      {
        label: 'Search index',
        type: 'select',
        name: 'reindex',
        options: [
          { text: 'Index these objects again in the background', value: 'reindex', disabled: false },
          { text: 'Index them again and block front ends meanwhile', value: 'reindex_block', disabled: false },
          { text: 'Leave the index as it is', value: 'skip', disabled: false },
        ],
        horizontal: false,
      },
    ],
    buttons: [{ text: 'Commit', name: 'confirm', value: 'yes' }, cancelButton],
  }
}

/** The question whether rules apply although stored objects violate them (DM-026). */
export function constraintsTask(
  broken: readonly { readonly change: ConstraintChange; readonly count: number }[],
): Task {
  return {
    title: 'Constraints',
    message: `Stored objects break rules of the new datamodel. They stay as they are, but cannot be saved until they obey: ${broken
      .map(({ change, count }) => `${describe(change)}: ${number(count)} ${count === 1 ? 'object' : 'objects'}`)
      .join('; ')}.`,
    buttons: [{ text: 'Commit', name: 'confirm', value: 'yes' }, cancelButton],
  }
}

function describe(change: ConstraintChange): string {
  switch (change.kind) {
    case 'column':
      return `${change.column.fullName} (${change.rules.join(', ')})`
    case 'unique':
      return `unique key ${change.key.name}`
    case 'pool':
      return `${change.table.name} (pool required)`
    case 'single_parent':
      return `${change.table.name} (one parent at most)`
  }
}

function number(value: number): string {
  return value.toLocaleString('en-US')
}
