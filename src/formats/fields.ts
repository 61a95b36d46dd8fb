import type { KeepPath } from '../objects/service.ts'
import type { FormatOptions } from './options.ts'

/** Which paths are written: the chosen fields, with the fields inside them and around them. */
export function keepFields({ fields = {} }: FormatOptions): KeepPath {
  const names = Object.keys(fields)
  if (names.length === 0) return () => true
  return (path) => names.some((name) => within(path, name) || within(name, path))
}

const within = (path: string, other: string): boolean => path === other || path.startsWith(`${other}.`)
