/** The text of a cell: composed letters, no blanks around it, one kind of line breaks. */
export function cellText(cell: string): string {
  const trimmed = cell.trim()
  return /^[\x20-\x7e]*$/.test(trimmed) ? trimmed : trimmed.normalize('NFC').replaceAll(/\r\n?/g, '\n')
}

/** On one line. */
export function oneLine(text: string): string {
  return text.replaceAll(/\s+/g, ' ')
}

/** The values of a cell with several values, each once. */
export function partsOf(text: string, separator: string): string[] {
  const parts = text.split(separator).map((part) => oneLine(part.trim()))
  return [...new Set(parts.filter((part) => part !== ''))]
}

/** An address from which a service can fetch files. */
export function isAddress(text: string): boolean {
  return /^https?:\/\/[^\s]+$/i.test(text) && URL.canParse(text)
}

/** The extension of a file name: `jpg`; null without one. */
export function extensionOf(text: string): string | null {
  const path = isAddress(text) ? new URL(text).pathname : text
  return /\.([a-z0-9]{1,5})$/i.exec(path)?.[1]?.toLowerCase() ?? null
}

/** Kinds of files that collections have; the order in which they are tried for a name without an extension. */
export const fileExtensions = [
  ...['jpg', 'jpeg', 'png', 'tif', 'tiff', 'webp', 'gif', 'heic', 'svg', 'jp2', 'dng', 'psd'],
  ...['pdf', 'mp3', 'wav', 'flac', 'ogg', 'm4a', 'mp4', 'mov', 'm4v', 'mkv', 'avi', 'webm', 'obj', 'glb', 'stl'],
] as const

const known: ReadonlySet<string> = new Set(fileExtensions)

export function namesFile(text: string): boolean {
  const extension = extensionOf(text)
  return extension !== null && known.has(extension) && !text.includes('\n')
}
