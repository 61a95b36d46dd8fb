import { fileClasses } from '../config/service.ts'

/** The class of a file, by its extension; `unknown` for all other extensions. */
export type FileClass = keyof typeof fileClasses | 'unknown'

const classes = new Map<string, FileClass>(
  Object.entries(fileClasses).flatMap(([name, extensions]) =>
    extensions.map((extension) => [extension, name as FileClass] as const),
  ),
)

export function classOf(extension: string): FileClass {
  return classes.get(extension) ?? 'unknown'
}
