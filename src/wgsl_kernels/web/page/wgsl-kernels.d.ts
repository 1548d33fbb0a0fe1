/** float32, int32, bool and uint8 (Uint8Array), int8, float16 (its bits), complex64 (pairs). */
export type TypedArray = Float32Array | Int32Array | Uint8Array | Int8Array | Uint16Array;

export interface Described {
  name: string;
  dtype: "float32" | "int32" | "bool" | "int8" | "uint8" | "float16" | "complex64";
  shape: number[];
}

export interface LoadOptions {
  /** Where adapters come from; `navigator.gpu` unless given, as Node needs. */
  gpu?: unknown;
  /** A GPUDevice to share; it must have what the program requires. */
  device?: unknown;
}

export class Model {
  readonly inputs: Described[];
  readonly outputs: Described[];
  /** GPUAdapterInfo. */
  readonly adapter: { vendor?: string; architecture?: string; description?: string };
  /** The WGSL texts, by the names of their files. */
  readonly shaders: Map<string, string>;
  /** Runs once; state is kept for the next run. Rejects where inputs or values are wrong. */
  run(inputs?: Record<string, TypedArray>): Promise<Record<string, { data: TypedArray; shape: number[] }>>;
  /** Frees everything. */
  dispose(): void;
}

/** Loads a program from its folder, or its program.json. */
export function load(url: string | URL, options?: LoadOptions): Promise<Model>;
