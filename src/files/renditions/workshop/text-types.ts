/** Documents that store their text as XML within an archive. */
export const offices: ReadonlySet<string> = new Set('docx docm dotx odt ods odp xlsx pptx ppsx'.split(' '))
export const plainTexts: ReadonlySet<string> = new Set(['txt', 'csv'])

/** Extensions of files that have a text. */
export const hasText = (extension: string): boolean =>
  extension === 'pdf' || extension === 'ai' || offices.has(extension) || plainTexts.has(extension)
