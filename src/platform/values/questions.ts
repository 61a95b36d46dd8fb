import type { Task } from './tasks.ts'

/** Ends a transaction that has to ask a question first: it is rolled back, and the tasks are the answer. */
export class Unconfirmed extends Error {
  readonly tasks: readonly Task[]

  constructor(tasks: readonly Task[]) {
    super('unconfirmed')
    this.tasks = tasks
  }
}

/** The result of some work, or the questions that it asks first. */
export type OrTasks<T> =
  | { readonly kind: 'done'; readonly value: T }
  | { readonly kind: 'confirm'; readonly tasks: readonly Task[] }

export async function orTasks<T>(work: () => Promise<T>): Promise<OrTasks<T>> {
  try {
    return { kind: 'done', value: await work() }
  } catch (error) {
    if (error instanceof Unconfirmed) return { kind: 'confirm', tasks: error.tasks }
    throw error
  }
}
