/** Parameters of statements that share parts: each statement has those that stand in it, and no others. */
import type { Bind } from './model.ts'

export interface Parameters {
  readonly bind: Bind
  /** A statement with its own values. */
  readonly finish: (text: string) => { readonly text: string; readonly values: readonly unknown[] }
}

export function createParameters(): Parameters {
  const all: unknown[] = []
  return {
    // No text of SQL has a zero byte.
    bind: (value) => `\0${all.push(value) - 1}\0`,
    finish(text) {
      const places = new Map<string, number>()
      const values: unknown[] = []
      const finished = text.replaceAll(/\0(\d+)\0/g, (_, index: string) => {
        const place = places.get(index) ?? values.push(all[Number(index)])
        places.set(index, place)
        return `$${place}`
      })
      return { text: finished, values }
    },
  }
}
