declare module 'libheif-js/wasm-bundle.js' {
  export interface HeifImage {
    get_width(): number
    get_height(): number
    display(target: { data: Uint8ClampedArray; width: number; height: number }, done: (shown: unknown) => void): void
    free(): void
  }
  const library: { HeifDecoder: new () => { decode(content: Uint8Array): HeifImage[] } }
  export default library
}
