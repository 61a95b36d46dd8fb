import type { Failure } from './tasks.ts'

/** Something cannot be made, and trying again would not help. */
export class CannotMake extends Error {
  readonly kind: Failure['kind']
  readonly needs: string | undefined
  /** It took too long: other renditions of the same file would, too. */
  readonly late: boolean

  constructor(
    kind: Failure['kind'],
    reason: string,
    options: ErrorOptions & { readonly needs?: string | undefined; readonly late?: boolean | undefined } = {},
  ) {
    super(reason, options)
    this.kind = kind
    this.needs = options.needs
    this.late = options.late ?? false
  }
}

/** One line for people: libraries answer with whole pages of text, and with paths of this machine. */
export function reasonOf(error: unknown): string {
  const text = error instanceof Error ? error.message : String(error)
  const line = text.split('\n').find((one) => one.trim() !== '') ?? 'unknown'
  return line.replaceAll(/(\/[\w.-]+){2,}/g, '…').slice(0, 300)
}
